import { DataSource } from 'typeorm';
import { Projections0001 } from './migrations/0001-projections.js';
import { Telemetry0002 } from './migrations/0002-telemetry.js';
import { Subscribers0003 } from './migrations/0003-subscribers.js';
import type { Pool } from 'pg';
import type { EntitySchema, Logger } from 'typeorm';

export interface ReadStoreOptions {
  /** `postgres://…`. */
  readonly url: string;
  /** Connections for queries, 1…100. Default 10. */
  readonly poolSize?: number;
  /** The tables that the queries read. */
  readonly entities?: readonly EntitySchema[];
  /** Default: nothing is logged. */
  readonly logger?: Logger;
}

const MIGRATION_LOCK = 'migrations';

/** Not connected yet: `openReadStore` connects and brings the schema up to date. */
export const createReadStore = ({ url, poolSize = 10, entities = [], logger }: ReadStoreOptions): DataSource =>
  new DataSource({
    type: 'postgres',
    url,
    poolSize,
    entities: [...entities],
    migrations: [Projections0001, Telemetry0002, Subscribers0003],
    migrationsTableName: 'migrations',
    synchronize: false,
    ...(logger ? { logger, logging: true } : { logging: false }),
    applicationName: 'escalon queries',
    connectTimeoutMS: 10_000,
    // An idle connection that breaks is replaced by the pool.
    poolErrorHandler: () => undefined,
    extra: { keepAlive: true, options: '-c timezone=UTC -c statement_timeout=30000' },
  });

/** Connects, and runs the migrations that are missing; of several processes that start at once, one does. */
export const openReadStore = async (options: ReadStoreOptions): Promise<DataSource> => {
  const source = await createReadStore(options).initialize();
  try {
    await migrate(source);
    return source;
  } catch (error) {
    await source.destroy();
    throw error;
  }
};

/** Runs the migrations that are missing, under a lock. */
export const migrate = async (source: DataSource): Promise<void> => {
  const lock = source.createQueryRunner();
  try {
    await lock.query('SET statement_timeout = 0');
    await lock.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [MIGRATION_LOCK]);
    await source.runMigrations({ transaction: 'each' });
  } finally {
    await lock.query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', [MIGRATION_LOCK]).catch(() => undefined);
    await lock.query('SET statement_timeout = 30000').catch(() => undefined);
    await lock.release();
  }
};

/** Whether every migration of this code has run on the database; for readiness. */
export const isUpToDate = async (source: DataSource): Promise<boolean> => !(await source.showMigrations());

/** The pool of connections below a connected source, for what goes past TypeORM. */
export const poolOf = (source: DataSource): Pool => (source.driver as unknown as { readonly master: Pool }).master;
