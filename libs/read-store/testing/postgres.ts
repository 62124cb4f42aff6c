import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '#platform/postgres';
import type { EmbeddedPostgres } from '#platform/postgres';

/** A server for one suite of tests, whose data is thrown away. */
export interface TestPostgres {
  readonly server: EmbeddedPostgres;
  /** The address of a new, empty database. */
  database(): Promise<string>;
  /** Kills the server (as a crash, or with a fast shutdown) and starts it again on the same port. */
  restart(how: 'crash' | 'shutdown'): Promise<void>;
  stop(): Promise<void>;
}

/** It never waits for its disk: data survives a crash of the server, though not one of the machine. */
export const startTestPostgres = async (): Promise<TestPostgres> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'escalon-test-'));
  const start = (port: number): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({ dataDir, port, logFile: join(dataDir, 'log'), unsafe: true });
  let server = await start(0);
  let databases = 0;
  return {
    get server() {
      return server;
    },
    database: async () => {
      databases += 1;
      const name = `test_${databases}`;
      const client = new pg.Client({ connectionString: server.url });
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return server.url.replace(/[^/]+$/, name);
    },
    restart: async (how) => {
      if (how === 'crash') {
        process.kill(server.pid, 'SIGKILL');
        await server.exited;
      } else await server.stop();
      server = await start(server.port);
    },
    stop: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
