import type { DataSource } from 'typeorm';
import { storableJson } from '../json-text.js';
import type { Clock, Millis } from '#kernel';

/** Which request: keys of different accounts have nothing to do with each other. */
export interface IdempotencyKey {
  readonly account: string;
  readonly key: string;
  /** A digest of the request: the same key with another one is a mistake of the caller. */
  readonly fingerprint: string;
}

/** An answer that was given, to be given again. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * What a key stands for. `new`: this request is the first and must call `finish` or `forget`. `running`: the first one has
 * not been answered. `reused`: the key belongs to another request.
 */
export type IdempotencyOutcome =
  | { readonly kind: 'new' }
  | { readonly kind: 'running' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'answered'; readonly answer: KeptAnswer };

/**
 * Remembers the answers to requests with an idempotency key for 24 hours. A request that began and was never answered
 * (its process died) holds its key for a minute; whoever repeats it then runs it again, so what it does must itself be
 * safe to repeat.
 */
export interface IdempotencyStore {
  begin(key: IdempotencyKey): Promise<IdempotencyOutcome>;
  finish(key: IdempotencyKey, answer: KeptAnswer): Promise<void>;
  /** The request failed in a way that a repetition may mend: the key is free again. */
  forget(key: IdempotencyKey): Promise<void>;
  /** Drops what is older than 24 hours; answers how many keys that were. */
  purge(): Promise<number>;
}

const KEPT: Millis = 24 * 3_600_000;
const ABANDONED: Millis = 60_000;

interface Entry {
  readonly fingerprint: string;
  readonly at: Millis;
  readonly answer: KeptAnswer | undefined;
}

const outcomeOf = (entry: Entry, { fingerprint }: IdempotencyKey): IdempotencyOutcome => {
  if (entry.fingerprint !== fingerprint) return { kind: 'reused' };
  return entry.answer ? { kind: 'answered', answer: entry.answer } : { kind: 'running' };
};

/** For tests and single processes without a database. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly clock: Clock) {}

  async begin(key: IdempotencyKey): Promise<IdempotencyOutcome> {
    const entry = this.entries.get(nameOf(key));
    if (entry && !this.isOver(entry)) return outcomeOf(entry, key);
    this.entries.set(nameOf(key), { fingerprint: key.fingerprint, at: this.clock.now(), answer: undefined });
    return { kind: 'new' };
  }

  async finish(key: IdempotencyKey, answer: KeptAnswer): Promise<void> {
    const entry = this.entries.get(nameOf(key));
    if (entry?.fingerprint === key.fingerprint) this.entries.set(nameOf(key), { ...entry, answer });
  }

  async forget(key: IdempotencyKey): Promise<void> {
    const entry = this.entries.get(nameOf(key));
    if (entry?.fingerprint === key.fingerprint && !entry.answer) this.entries.delete(nameOf(key));
  }

  async purge(): Promise<number> {
    const old = [...this.entries].filter(([, { at }]) => this.clock.now() - at > KEPT);
    for (const [name] of old) this.entries.delete(name);
    return old.length;
  }

  private isOver({ at, answer }: Entry): boolean {
    return this.clock.now() - at > (answer ? KEPT : ABANDONED);
  }
}

const nameOf = ({ account, key }: IdempotencyKey): string => JSON.stringify([account, key]);

interface KeyRow {
  readonly fingerprint: string;
  readonly status: number | null;
  readonly answer: unknown;
}

/** Shared by all processes of a database. */
export class PostgresIdempotencyStore implements IdempotencyStore {
  constructor(
    private readonly source: DataSource,
    private readonly clock: Clock,
  ) {}

  async begin(key: IdempotencyKey): Promise<IdempotencyOutcome> {
    // Twice: the row that was in the way may be purged before it is read.
    return (await this.tryBegin(key)) ?? (await this.tryBegin(key)) ?? { kind: 'running' };
  }

  async finish({ account, key, fingerprint }: IdempotencyKey, { status, body }: KeptAnswer): Promise<void> {
    await this.source.query(
      'UPDATE idempotency_keys SET status = $4, answer = $5::json WHERE account = $1 AND key = $2 AND fingerprint = $3',
      [account, key, fingerprint, status, storableJson(body ?? null)],
    );
  }

  async forget({ account, key, fingerprint }: IdempotencyKey): Promise<void> {
    await this.source.query(
      'DELETE FROM idempotency_keys WHERE account = $1 AND key = $2 AND fingerprint = $3 AND status IS NULL',
      [account, key, fingerprint],
    );
  }

  async purge(): Promise<number> {
    const sql =
      'WITH old AS (DELETE FROM idempotency_keys WHERE created_at < $1 RETURNING 1) SELECT count(*)::int AS n FROM old';
    const [row] = await this.source.query<{ n: number }[]>(sql, [this.before(KEPT)]);
    return row?.n ?? 0;
  }

  private async tryBegin(key: IdempotencyKey): Promise<IdempotencyOutcome | undefined> {
    const taken = await this.source.query<unknown[]>(TAKE, [
      key.account,
      key.key,
      key.fingerprint,
      this.before(0),
      this.before(KEPT),
      this.before(ABANDONED),
    ]);
    if (taken.length > 0) return { kind: 'new' };
    const [row] = await this.source.query<KeyRow[]>(
      'SELECT fingerprint, status, answer FROM idempotency_keys WHERE account = $1 AND key = $2',
      [key.account, key.key],
    );
    if (!row) return undefined;
    const answer = row.status === null ? undefined : { status: row.status, body: row.answer };
    return outcomeOf({ fingerprint: row.fingerprint, at: 0, answer }, key);
  }

  private before(span: Millis): Date {
    return new Date(this.clock.now() - span);
  }
}

/** Takes a key that is free, or whose time is over. */
const TAKE = `
  INSERT INTO idempotency_keys AS k (account, key, fingerprint, created_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (account, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, created_at = excluded.created_at, status = NULL, answer = NULL
    WHERE k.created_at < CASE WHEN k.status IS NULL THEN $6::timestamptz ELSE $5::timestamptz END
  RETURNING 1`;
