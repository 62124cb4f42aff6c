import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { NO_STREAM, START, binaryEvent } from '@eventstore/db-client';
import type { EventStoreDBClient } from '@eventstore/db-client';
import {
  all,
  connectTo,
  errorOf,
  event,
  events,
  freshStream,
  runToEnd,
  spawnServer,
  temporaryFolder,
  until,
} from './harness.js';
import type { ServerProcess } from './harness.js';

const folders: string[] = [];
const freshFile = (): string => {
  const folder = temporaryFolder();
  folders.push(folder);
  return join(folder, 'data', 'events.db');
};

const running = new Set<ServerProcess>();
const clients = new Set<EventStoreDBClient>();
const start = async (args: readonly string[], stdin?: 'ignore' | 'pipe'): Promise<ServerProcess> => {
  const server = await spawnServer(args, stdin);
  running.add(server);
  return server;
};
const connect = ({ port }: ServerProcess): EventStoreDBClient => {
  const client = connectTo(port);
  clients.add(client);
  return client;
};

const isAlive = ({ child }: ServerProcess): boolean => child.exitCode === null && child.signalCode === null;

afterEach(async () => {
  await Promise.all([...clients].map((client) => client.dispose()));
  await Promise.all([...running].filter(isAlive).map((server) => server.kill('SIGKILL')));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  clients.clear();
  running.clear();
});

describe('the process', () => {
  it('says where it listens in one line, serves, and stops in order on SIGTERM and SIGINT', async () => {
    const file = freshFile();
    for (const [round, how] of (['SIGTERM', 'SIGINT'] as const).entries()) {
      const server = await start(['--file', file, '--port', '0']);
      expect(server.ready).toEqual({ ready: true, host: '127.0.0.1', port: server.port, file });
      const client = connect(server);
      await client.appendToStream('kept', events(2));
      expect(await all(client.readStream('kept'))).toHaveLength(2 * (round + 1));
      expect(await server.kill(how)).toBe(0);
      expect(() => statSync(`${file}-wal`)).toThrow(/ENOENT/);
    }
  });

  it('answers every append that it had taken before it stops', async () => {
    const file = freshFile();
    const server = await start(['--file', file, '--port', '0']);
    const client = connect(server);
    const stream = freshStream();
    await client.appendToStream(stream, event());
    const appends = Array.from({ length: 300 }, () => client.appendToStream(stream, event()));
    const exit = server.kill('SIGTERM');
    const stored = (await Promise.allSettled(appends)).filter(({ status }) => status === 'fulfilled').length;
    expect(await exit).toBe(0);
    const again = await start(['--file', file, '--port', '0']);
    const left = await all(connect(again).readStream(stream));
    expect(left.length).toBeGreaterThanOrEqual(stored + 1);
  });

  it('ends subscriptions with an error that says why', async () => {
    const server = await start(['--file', freshFile(), '--port', '0']);
    const subscription = connect(server).subscribeToAll();
    const failure = new Promise<unknown>((resolve) => subscription.once('error', resolve));
    await new Promise((resolve) => subscription.on('data', () => undefined).once('caughtUp', resolve));
    expect(await server.kill('SIGTERM')).toBe(0);
    expect(await failure).toMatchObject({ type: 'unavailable' });
  });

  it('stops when its parent closes stdin, or is gone', async () => {
    const file = freshFile();
    const tied = await start(['--file', file, '--port', '0', '--exit-with-parent'], 'pipe');
    tied.child.stdin?.end();
    await until(() => tied.child.exitCode !== null);
    expect(tied.child.exitCode).toBe(0);
    const parent = await start(['--file', freshFile(), '--port', '0']);
    const watching = await start(['--file', file, '--port', '0', '--parent-pid', String(parent.child.pid)]);
    await parent.kill('SIGKILL');
    await until(() => watching.child.exitCode !== null);
    expect(watching.child.exitCode).toBe(0);
  });
});

describe('memory', () => {
  /** Bytes of memory that the process holds. */
  const memoryOf = ({ child }: ServerProcess): number => {
    const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  };

  it('does not grow with what slow subscribers have yet to read, live or behind', async () => {
    const server = await start(['--file', freshFile(), '--port', '0']);
    const client = connect(server);
    const stalled = Array.from({ length: 5 }, () => {
      const subscription = client.subscribeToAll();
      subscription.on('fellBehind', () => said.push('fellBehind')).on('caughtUp', () => said.push('caughtUp'));
      return subscription;
    });
    const said: string[] = [];
    await client.appendToStream('warm', event());
    const before = memoryOf(server);
    const body = Buffer.alloc(300_000, 1);
    for (let n = 0; n < 100; n += 1) {
      await client.appendToStream('large', binaryEvent({ type: 'Large', data: body }));
    }
    // Five times 30 MB are on their way, and the log's own cache holds 30 MB; a slow reader may cost some 2 MiB.
    expect(memoryOf(server) - before).toBeLessThan(90 * 1024 * 1024);
    const seen = await Promise.all(
      stalled.map(async (subscription) => {
        let count = 0;
        for await (const _ of subscription) if (++count === 101) break;
        return count;
      }),
    );
    expect(seen).toEqual([101, 101, 101, 101, 101]);
    expect(said).toContain('fellBehind');
  });
});

describe('a start that cannot be', () => {
  const refused = async (args: readonly string[], reason: RegExp): Promise<void> => {
    const { code, stdout, stderr } = await runToEnd(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(reason);
  };

  it('names the file that another process holds', async () => {
    const file = freshFile();
    await start(['--file', file, '--port', '0']);
    await refused(['--file', file, '--port', '0'], new RegExp(`${file}: another process has this event log open`));
  });

  it('names a port that is taken', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as AddressInfo;
    await refused(
      ['--file', freshFile(), '--port', String(port)],
      new RegExp(`127\\.0\\.0\\.1:${port}: the port is in use`),
    );
    await new Promise((resolve) => holder.close(resolve));
  });

  it('names a file that is no event log', async () => {
    const folder = temporaryFolder();
    folders.push(folder);
    const file = join(folder, 'notes.txt');
    writeFileSync(file, 'These are notes, not events.\n'.repeat(200));
    await refused(['--file', file, '--port', '0'], new RegExp(`${file}: this file is not an event log`));
    const other = join(folder, 'other.db');
    const { DatabaseSync } = await import('node:sqlite');
    const database = new DatabaseSync(other);
    database.exec('CREATE TABLE t (a)');
    database.close();
    await refused(['--file', other, '--port', '0'], /other\.db: it is an SQLite database, but not an event log/);
  });

  it('names a log that is damaged', async () => {
    const file = freshFile();
    const server = await start(['--file', file, '--port', '0']);
    const client = connect(server);
    for (let n = 0; n < 10; n += 1) await client.appendToStream(freshStream(), events(100));
    await server.kill('SIGTERM');
    const handle = openSync(file, 'r+');
    writeSync(handle, Buffer.alloc(20_000, 0xa5), 0, 20_000, 3 * 4096);
    closeSync(handle);
    await refused(['--file', file, '--port', '0'], new RegExp(`${file}: the event log is corrupt`));
  });

  it.each([
    [[], /--file is missing/],
    [['--file', '/tmp/x', '--port', '70000'], /--port must be a whole number from 0 to 65535/],
    [['--file', '/tmp/x', '--cert', 'c'], /--cert and --key go together/],
    [['--file', '/tmp/x', '--colour', 'red'], /--colour/],
    [['--file', '/tmp/x', '--users', '/nowhere/users.json'], /\/nowhere\/users\.json/],
  ])('names the mistake in %j', async (args, reason) => refused(args, reason));
});

describe('killed at any moment', () => {
  const appendUntilDead = async (client: EventStoreDBClient, round: number, acknowledged: Map<string, number>) => {
    let dead = false;
    const worker = async (index: number): Promise<void> => {
      for (let n = 0; !dead; n += 1) {
        const stream = `crash-${round}-${index}-${n}`;
        await client.appendToStream(stream, events(3), { expectedRevision: NO_STREAM }).then(
          () => acknowledged.set(stream, 3),
          () => (dead = true),
        );
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, index) => worker(index)));
  };

  it('has every acknowledged append, whole, and no part of another', async () => {
    const file = freshFile();
    const acknowledged = new Map<string, number>();
    for (let round = 0; round < 4; round += 1) {
      const server = await start(['--file', file, '--port', '0']);
      const enough = acknowledged.size + 40 + 37 * round;
      const appending = appendUntilDead(connect(server), round, acknowledged);
      await until(() => acknowledged.size >= enough);
      await server.kill('SIGKILL');
      await appending;
    }
    const server = await start(['--file', file, '--port', '0']);
    const found = new Map<string, number>();
    for (const { event: e } of await all(connect(server).readAll({ fromPosition: START }))) {
      if (e) found.set(e.streamId, (found.get(e.streamId) ?? 0) + 1);
    }
    for (const stream of acknowledged.keys()) expect([stream, found.get(stream)]).toEqual([stream, 3]);
    expect([...found].filter(([, count]) => count !== 3)).toEqual([]);
    expect(await server.kill('SIGTERM')).toBe(0);
  });

  it('is served to the same client again after it is back on its port', async () => {
    const file = freshFile();
    const first = await start(['--file', file, '--port', '0']);
    const client = connect(first);
    await client.appendToStream('steady', event());
    await first.kill('SIGKILL');
    expect(await errorOf(client.appendToStream('steady', event()))).toMatchObject({ code: 14 });
    await start(['--file', file, '--port', String(first.port)]);
    await until(() =>
      client.appendToStream('steady', event()).then(
        () => true,
        () => false,
      ),
    );
    expect((await all(client.readStream('steady'))).length).toBeGreaterThanOrEqual(2);
  });

  it('lets another server of the same client process go on', async () => {
    const [doomed, other] = [
      await start(['--file', freshFile(), '--port', '0']),
      await start(['--file', freshFile(), '--port', '0']),
    ];
    const [one, two] = [connect(doomed), connect(other)];
    await Promise.all([one.appendToStream('a', event()), two.appendToStream('a', event())]);
    await doomed.kill('SIGKILL');
    await errorOf(one.appendToStream('a', event()));
    expect((await two.appendToStream('a', event())).nextExpectedRevision).toBe(1n);
  });
});
