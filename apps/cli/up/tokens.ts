import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { issueToken } from '#platform/auth';
import type { DataFolder } from './data-folder.js';

const SECRET_BYTES = 32;

/** The signing secret of this system; made at the first start, mode 0600. */
export const ensureSecret = async (folder: DataFolder): Promise<string> => {
  try {
    // `wx`: two starts at once must not each sign with a secret of their own.
    await writeFile(folder.secret, randomBytes(SECRET_BYTES).toString('base64url'), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return (await readFile(folder.secret, 'utf8')).trim();
};

/**
 * Writes the tokens that local programs find by themselves, mode 0600: the operator's for the command line, and one that
 * may do nothing but enrol a node, for the agent. Answers the operator's.
 */
export const writeLocalTokens = async (folder: DataFolder, secret: string): Promise<string> => {
  const admin = await issueToken(secret, { role: 'operator', account: localAccount() });
  const enrol = await issueToken(secret, { role: 'node', account: 'agent' });
  await writeFile(folder.adminToken, `${admin}\n`, { mode: 0o600 });
  await writeFile(folder.enrolToken, `${enrol}\n`, { mode: 0o600 });
  return admin;
};

/** The operating system's account; a container may run under a number that has no name. */
const localAccount = (): string => {
  try {
    return userInfo().username;
  } catch {
    return 'operator';
  }
};
