import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dataFolderOf, findConnection } from '../connection.js';
import { dataFolderAt } from './data-folder.js';
import type { Io } from '../io.js';

/**
 * Runs the agent's own process, which reads its own options (`escalon agent --help`), and ends as it ends. It is told where
 * the local system is, and its enrolment token, unless the environment names others.
 */
export const runAgent = async (args: readonly string[], io: Io): Promise<number> => {
  const { url } = await findConnection({}, io);
  const enrol = await readFile(dataFolderAt(dataFolderOf({}, io)).enrolToken, 'utf8').catch(() => '');
  const token = io.env.ESCALON_TOKEN || enrol.trim();
  const main = join(import.meta.dirname, '..', '..', 'agent', 'main.js');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], {
    env: { ...io.env, ESCALON_URL: url, ...(token ? { ESCALON_TOKEN: token } : {}) },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
};
