import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { EmbeddedPostgresUnavailable } from './faults.js';

const run = promisify(execFile);

/**
 * As whom Postgres runs; it refuses to be root. `self`: the launcher's own account. `user-namespace`: still the
 * launcher's account to the rest of the machine, so it reaches data in a folder that only root may enter, but nobody
 * within. `postgres-user`: another account, which must be able to enter the data's folder.
 */
export type Identity =
  | { readonly kind: 'self' }
  | { readonly kind: 'user-namespace' }
  | { readonly kind: 'postgres-user'; readonly uid: number; readonly gid: number };

/** The program and its arguments as they are to be spawned, without a shell. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly owner: { readonly uid?: number; readonly gid?: number };
}

const NOBODY = 65534;
const NAMESPACE = ['-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--'];

/** The first of the ways that works here. */
export const findIdentity = async (): Promise<Identity> => {
  if (process.getuid?.() !== 0) return { kind: 'self' };
  if (await succeeds('unshare', [...NAMESPACE, 'true'])) return { kind: 'user-namespace' };
  const user = (await lookUpPostgres()) ?? (await createPostgres());
  if (user) return { kind: 'postgres-user', ...user };
  throw new EmbeddedPostgresUnavailable(
    'it refuses to run as root, this kernel allows no user namespace, and no account "postgres" could be made',
  );
};

export const commandAs = (identity: Identity, file: string, args: readonly string[]): Command => {
  switch (identity.kind) {
    case 'self':
      return { file, args, owner: {} };
    case 'user-namespace':
      return { file: 'unshare', args: [...NAMESPACE, file, ...args], owner: {} };
    case 'postgres-user':
      return { file, args, owner: { uid: identity.uid, gid: identity.gid } };
  }
};

const succeeds = async (file: string, args: readonly string[]): Promise<boolean> => {
  try {
    await run(file, args);
    return true;
  } catch {
    return false;
  }
};

const lookUpPostgres = async (): Promise<{ uid: number; gid: number } | undefined> => {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
};

const createPostgres = async (): Promise<{ uid: number; gid: number } | undefined> => {
  await succeeds('groupadd', ['--system', 'postgres']);
  await succeeds('useradd', ['--system', '-g', 'postgres', 'postgres']);
  return lookUpPostgres();
};
