import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { PortTaken, freePort, startEmbeddedPostgres } from './index.js';
import type { AddressInfo } from 'node:net';
import type { EmbeddedPostgres } from './index.js';

const query = async (url: string, sql: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
};

describe('embedded Postgres', () => {
  let folder: string;
  let dataDir: string;
  let logFile: string;
  let server: EmbeddedPostgres;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'escalon-postgres-'));
    dataDir = join(folder, 'with a space');
    logFile = join(folder, 'postgres.log');
    server = await startEmbeddedPostgres({ dataDir, logFile });
  });

  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('serves a database below a folder that only its owner may enter', async () => {
    expect(server.adopted).toBe(false);
    expect(await query(server.url, 'SELECT current_database() AS name')).toEqual([{ name: 'escalon' }]);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    expect((await stat(join(dataDir, 'password'))).mode & 0o777).toBe(0o600);
  });

  it('is durable, speaks UTF-8 and UTC, and listens on the loopback only', async () => {
    const shown = `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commits,
      current_setting('listen_addresses') AS addresses, current_setting('unix_socket_directories') AS sockets,
      current_setting('server_encoding') AS encoding, current_setting('timezone') AS zone`;
    expect(await query(server.url, shown)).toEqual([
      { fsync: 'on', commits: 'on', addresses: '127.0.0.1', sockets: '', encoding: 'UTF8', zone: 'UTC' },
    ]);
  });

  it('refuses a wrong password', async () => {
    const wrong = server.url.replace(/:[^:@]+@/, ':wrong@');
    await expect(query(wrong, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
  });

  it('takes over a living server whose launcher is gone', async () => {
    const again = await startEmbeddedPostgres({ dataDir, logFile });
    expect(again).toMatchObject({ adopted: true, pid: server.pid, url: server.url });
    await again.stop();
    await server.exited;
    server = await startEmbeddedPostgres({ dataDir, logFile });
    expect(server.adopted).toBe(false);
  });

  it('starts again after the server was killed and keeps what was committed', async () => {
    await query(server.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    server = await startEmbeddedPostgres({ dataDir, logFile });
    expect(await query(server.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('is not misled by a pid file that names a stranger', async () => {
    await server.stop();
    const lines = [process.pid, join(dataDir, 'cluster'), 1, server.port, '', '127.0.0.1', '', 'ready', ''];
    await writeFile(join(dataDir, 'cluster', 'postmaster.pid'), lines.join('\n'), { mode: 0o600 });
    server = await startEmbeddedPostgres({ dataDir, logFile });
    expect(server.adopted).toBe(false);
    expect(server.pid).not.toBe(process.pid);
  });

  it('names who holds a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    const start = startEmbeddedPostgres({ dataDir: elsewhere, logFile, port });
    await expect(start).rejects.toBeInstanceOf(PortTaken);
    await expect(start).rejects.toThrow(new RegExp(`port ${port} .*pid ${process.pid}`));
    await new Promise((resolve) => other.close(resolve));
  });

  it('listens on the port it is given', async () => {
    await server.stop();
    const port = await freePort();
    server = await startEmbeddedPostgres({ dataDir, logFile, port });
    expect(server.port).toBe(port);
  });
});
