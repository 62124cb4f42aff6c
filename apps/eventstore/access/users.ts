import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Who calls. `groups` are the roles that access lists name beside the account's own name. */
export interface Account {
  readonly name: string;
  readonly groups: readonly string[];
}

/** An account and the password it must show. */
export interface User extends Account {
  readonly password: string;
}

export const ADMINS = '$admins';
const OPERATORS = '$ops';

/** The accounts that a new EventStoreDB has; used when authentication is on and no others are given. */
export const DEFAULT_USERS: readonly User[] = [
  { name: 'admin', password: 'changeit', groups: [ADMINS] },
  { name: 'ops', password: 'changeit', groups: [OPERATORS] },
];

/**
 * Reads `{"users":[{"name":"admin","password":"…","groups":["$admins"]}]}`. Without `groups`, `admin` is in `$admins`
 * and `ops` in `$ops`.
 *
 * @throws Error that names the file and the first mistake in it.
 */
export const readUsers = (file: string): readonly User[] => {
  try {
    return parseUsers(JSON.parse(readFileSync(file, 'utf8')) as unknown);
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
};

/** @throws Error that says what is wrong. */
export const parseUsers = (value: unknown): readonly User[] => {
  const users = (value as { users?: unknown } | null)?.users;
  if (!Array.isArray(users) || users.length === 0) throw new Error('expected {"users":[…]} with at least one user');
  const parsed = users.map(parseUser);
  const twice = parsed.find((user, index) => parsed.findIndex((other) => other.name === user.name) !== index);
  if (twice) throw new Error(`user ${twice.name} is there twice`);
  return parsed;
};

const parseUser = (value: unknown, index: number): User => {
  const { name, password, groups } = (value ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || name === '' || name.includes(':')) {
    throw new Error(`users[${index}].name: expected text without a colon`);
  }
  if (typeof password !== 'string' || password === '') throw new Error(`users[${index}].password: expected text`);
  if (groups === undefined) return { name, password, groups: usualGroups(name) };
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === 'string')) {
    throw new Error(`users[${index}].groups: expected a list of names`);
  }
  return { name, password, groups };
};

const usualGroups = (name: string): readonly string[] =>
  name === 'admin' ? [ADMINS] : name === 'ops' ? [OPERATORS] : [];

/** Checks `authorization` headers of the Basic scheme against a fixed set of users. */
export class Authenticator {
  private readonly users: ReadonlyMap<string, { account: Account; digest: Buffer }>;

  constructor(users: readonly User[]) {
    this.users = new Map(
      users.map(({ name, groups, password }) => [name, { account: { name, groups }, digest: digestOf(password) }]),
    );
  }

  /** The account, or undefined when the header is malformed or name and password do not belong together. */
  check(header: string): Account | undefined {
    const encoded = /^basic\s+(\S+)$/i.exec(header)?.[1];
    if (encoded === undefined) return undefined;
    const [, name, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
    const user = this.users.get(name ?? '');
    const matches = timingSafeEqual(digestOf(password ?? ''), user?.digest ?? digestOf(''));
    return user && matches ? user.account : undefined;
  }
}

const digestOf = (password: string): Buffer => createHash('sha256').update(password).digest();
