import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EventStoreDBClient, START as LOG_START, jsonEvent } from '@eventstore/db-client';
import { START, connectEventStore } from '#event-store';
import type { ConnectedEventStore, NewEvent } from '#event-store';
import { systemClock, systemIds, systemRandom, systemTimers } from '#kernel';
import type { BenchResult } from './bench-result.js';
import { quantile } from './measures.js';

/* The embedded event store as the control plane meets it: Escalon's client here, the server in a process of its own, every
 * append on disk before it is answered. Two rows have EventStoreDB's own client instead, which other programs use. Client
 * and server share the machine's cores. */

interface Measured {
  /** Milliseconds. */
  readonly elapsed: number;
  /** Microseconds of processor time. */
  readonly server: number;
  readonly client: number;
}

interface Target {
  readonly store: ConnectedEventStore;
  readonly official: EventStoreDBClient;
  readonly pid: number;
}

/** Appends one event to a stream. */
type Append = (stream: string, event: NewEvent) => Promise<void>;

const APPENDS: readonly (readonly [inFlight: number, count: number])[] = [
  [1, 2_000],
  [64, 30_000],
  [256, 30_000],
];
const STREAMS = 1_000;
const LIVE_EVENTS = 20_000;

/** Appends, reads and subscriptions; takes about half a minute. Needs `dist/`. */
export const benchEventStore = async (): Promise<BenchResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-eventstore-'));
  const main = join(import.meta.dirname, '../../apps/eventstore/main.js');
  const child = spawn(process.execPath, [main, '--file', join(folder, 'events.db'), '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const connectionString = `esdb://127.0.0.1:${await portOf(child)}?tls=false`;
    const [clock, timers, random] = [systemClock, systemTimers, systemRandom];
    const store = connectEventStore({ connectionString, clock, timers, random, maxInFlight: 256 });
    const official = EventStoreDBClient.connectionString(connectionString);
    const rows = await measureAll({ store, official, pid: child.pid! });
    await store.close();
    await official.dispose();
    return { name: 'event store', rows, notes: notes() };
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(undefined)));
    rmSync(folder, { recursive: true, force: true });
  }
};

const portOf = async (child: ChildProcess): Promise<number> => {
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout!).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`the event store ended with ${code}`)));
  });
  return (JSON.parse(line) as { port: number }).port;
};

const measureAll = async (target: Target): Promise<BenchResult['rows']> => {
  const ours = appendWith(target.store);
  await appendMany(ours, 64, 5_000);
  const rows: BenchResult['rows'] = [];
  for (const [inFlight, count] of APPENDS) rows.push(await benchAppends(target, ours, inFlight, count));
  rows.push(await benchRead(target), await benchCatchUp(target), await benchLive(target, ours));
  const theirs: Append = async (stream, event) => {
    await target.official.appendToStream(stream, jsonEvent({ ...event, data: { ...event.data } } as never));
  };
  await appendMany(theirs, 64, 5_000);
  rows.push(await benchAppends(target, theirs, 64, 30_000, "EventStoreDB's client: "), await benchOfficialRead(target));
  return rows;
};

/** Each append names the revision that it expects, as all of Escalon's do. */
const appendWith = (store: ConnectedEventStore): Append => {
  const revisions = new Map<string, bigint>();
  return async (stream, event) => {
    const result = await store.append(stream, [event], revisions.get(stream) ?? 'none');
    if (result.kind === 'conflict') throw new Error(`${stream} has another writer`);
    revisions.set(stream, result.revision);
  };
};

const benchAppends = async (
  target: Target,
  append: Append,
  inFlight: number,
  count: number,
  client = '',
): Promise<BenchResult['rows'][number]> => {
  let latencies: number[] = [];
  const measured = await measure(target, async () => {
    latencies = await appendMany(append, inFlight, count);
  });
  const at = (share: number): string => quantile(latencies, share).toFixed(2);
  return row(`${client}append, ${inFlight} in flight`, count, measured, { 'p50 ms': at(0.5), 'p99 ms': at(0.99) });
};

/** Appends of one event each, spread over many streams; returns how long each took. */
const appendMany = async (append: Append, inFlight: number, count: number): Promise<number[]> => {
  const latencies: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const began = performance.now();
      await append(`job-${n % STREAMS}`, sample(n));
      latencies.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return latencies;
};

const sample = (n: number): NewEvent => ({
  id: systemIds.next(),
  type: 'JobSubmitted',
  data: { jobId: `job-${n}`, name: 'primes', project: 'demo', priority: 50, text: 'x'.repeat(150) },
  metadata: { $correlationId: '01890a5d-ac96-774b-bcce-b302099a8057', schemaVersion: 1, actor: 'ada' },
});

const benchRead = async (target: Target): Promise<BenchResult['rows'][number]> => {
  let count = 0;
  const measured = await measure(target, async () => {
    for await (const _ of target.store.readAll({ after: START })) count += 1;
  });
  return row('read all', count, measured);
};

const benchOfficialRead = async ({ official, ...target }: Target): Promise<BenchResult['rows'][number]> => {
  let count = 0;
  const measured = await measure({ official, ...target }, async () => {
    for await (const _ of official.readAll({ fromPosition: LOG_START })) count += 1;
  });
  return row("EventStoreDB's client: read $all", count, measured);
};

const benchCatchUp = async (target: Target): Promise<BenchResult['rows'][number]> => {
  let count = 0;
  const measured = await measure(target, async () => {
    await new Promise<void>((resolve, reject) => {
      const event = (): void => void (count += 1);
      const subscription = target.store.subscribe(
        { after: START },
        { event, caughtUp: () => void subscription.stop().then(resolve, reject), failed: reject },
      );
    });
  });
  return row('subscribe, catching up', count, measured);
};

/** Appends and one live subscription to what they store, both in this process. */
const benchLive = async (target: Target, append: Append): Promise<BenchResult['rows'][number]> => {
  const after = await target.store.head();
  let count = 0;
  let allDelivered = (): void => undefined;
  const delivered = new Promise<void>((resolve) => (allDelivered = resolve));
  const event = (): void => {
    count += 1;
    if (count === LIVE_EVENTS) allDelivered();
  };
  const subscription = target.store.subscribe({ after }, { event });
  const measured = await measure(target, async () => {
    await Promise.all([appendMany(append, 256, LIVE_EVENTS), delivered]);
  });
  await subscription.stop();
  return row('append and receive live, 256 in flight', count, measured);
};

const row = (
  what: string,
  count: number,
  { elapsed, server, client }: Measured,
  more: Record<string, string> = {},
): BenchResult['rows'][number] => ({
  what,
  events: count,
  'events/s': Math.round((count / elapsed) * 1000),
  'p50 ms': '',
  'p99 ms': '',
  ...more,
  'server µs/event': (server / count).toFixed(1),
  'client µs/event': (client / count).toFixed(1),
});

const measure = async ({ pid }: Target, run: () => Promise<void>): Promise<Measured> => {
  const [began, server, client] = [performance.now(), processorTime(pid), process.cpuUsage()];
  await run();
  const used = process.cpuUsage(client);
  return {
    elapsed: performance.now() - began,
    server: processorTime(pid) - server,
    client: used.user + used.system,
  };
};

const TICK_MICROSECONDS = 10_000;

/** Microseconds of processor time that a process has used, from its `stat` file (user and system, in ticks of 10 ms). */
const processorTime = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS;
};

const notes = (): string[] => [
  'each append is one JSON event of about 300 bytes, answered after its commit is on disk (synchronous=FULL, group commit)',
  `client and server share ${availableParallelism()} cores; load average ${loadavg()[0]!.toFixed(1)} at the end`,
];
