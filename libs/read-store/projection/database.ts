import type { Pool, PoolClient, QueryResult } from 'pg';

/** What a statement needs: a pool, or one client inside a transaction. */
export type Sql = Pick<PoolClient, 'query'>;

/** Runs `work` in one transaction on one connection. After a fault the connection is thrown away, not reused. */
export const inTransaction = async <Result>(pool: Pool, work: (sql: Sql) => Promise<Result>): Promise<Result> => {
  const client = await pool.connect();
  let fault: Error | undefined;
  const onError = (error: Error): void => void (fault = error);
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    fault = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(fault);
  }
};

/** A statement that is planned once in each connection. Names must be unique for the text. */
export const prepared = async (sql: Sql, name: string, text: string, values: unknown[]): Promise<QueryResult> =>
  sql.query({ name, text, values });

/**
 * Whether the server refused the statement for what it said (classes 22, 23, 42 and the like), so that saying it again
 * cannot help. Everything else (no connection, shutdown, deadlock, disk full, cancelled) may pass.
 */
export const isRefusal = (error: unknown): boolean => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(?:0A|21|22|23|42)[0-9A-Z]{3}$/.test(code);
};
