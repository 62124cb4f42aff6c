import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { EventStore } from '#event-store';
import { systemClock, systemIds, systemTimers } from '#kernel';
import { applyEvent, emptyCluster } from '#placement';
import type { ClusterState } from '#placement';
import { SnapshotFolder, Snapshots } from '#scheduling';
import { EventLog } from '../../apps/eventstore/log/event-log.js';
import { ManagedProcess, SECRET, TestSystem } from '../system/index.js';
import type { BenchResult } from './bench-result.js';
import { processorTime } from './processor-time.js';
import { NODES, nodeStart, ran, submitted } from './start-log.js';
import type { LoggedEvent } from './start-log.js';

/* How long a control plane takes to start with a long log behind it, and what its view of the cluster weighs. */

const JOBS = Number(process.env.BENCH_START_JOBS ?? 111_000);
const EVENTS_PER_JOB = 9;
const READY_WITHIN = 900_000;

type Row = BenchResult['rows'][number];

/** Takes some minutes and a gigabyte of disk. Needs `dist/`. */
export const benchStart = async (): Promise<BenchResult> => {
  const system = await TestSystem.start({ env: { LOG_LEVEL: 'warn', ESCALON_SNAPSHOT_EVERY: '0' } });
  try {
    await system.orchestrators[0]!.stop();
    await fill(system);
    const rows = [
      await startOnce(system, 'from the log', 0),
      await startOnce(system, 'from the log, writing snapshots', 50_000),
      await startOnce(system, 'from a snapshot', 50_000),
      ...(await weigh(join(system.folder, 'weighed'))),
    ];
    const events = `${String(JOBS * EVENTS_PER_JOB)} events, ${String(JOBS)} jobs that ran to their end on ${String(NODES.length)} nodes`;
    const roles = 'roles api and scheduler: read models go on from their checkpoints and keep no start waiting';
    return { name: 'start', rows, notes: [events, roles, `load average ${loadavg()[0]!.toFixed(1)} at the end`] };
  } finally {
    await system.stop();
  }
};

const startOnce = async (system: TestSystem, what: string, every: number): Promise<Row> => {
  const data = join(system.folder, 'data');
  const orchestrator = new ManagedProcess('orchestrator', [], {
    ESDB_URL: system.eventStoreUrl,
    DATABASE_URL: system.postgres.url,
    PORT: '0',
    ESCALON_SECRET: SECRET,
    ESCALON_DATA: data,
    ESCALON_ROLES: 'api,scheduler',
    ESCALON_SNAPSHOT_EVERY: String(every),
    LOG_LEVEL: 'warn',
  });
  const began = performance.now();
  await orchestrator.start(READY_WITHIN);
  const elapsed = performance.now() - began;
  const processor = processorTime(orchestrator.pid) / 1_000_000;
  const resident = residentOf(orchestrator.pid);
  await orchestrator.stop();
  return row(what, {
    seconds: (elapsed / 1000).toFixed(1),
    'processor seconds': processor.toFixed(1),
    'resident MB': megabytes(resident),
    'snapshot MB': every === 0 ? '' : megabytes(newestIn(join(data, 'snapshots'))),
  });
};

const row = (what: string, columns: Readonly<Record<string, string>>): Row => ({
  what,
  seconds: '',
  'processor seconds': '',
  'resident MB': '',
  'snapshot MB': '',
  'ms standing still': '',
  'bytes/job': '',
  ...columns,
});

const megabytes = (bytes: number): string => (bytes / 1024 ** 2).toFixed(1);

const newestIn = (folder: string): number => {
  const newest = readdirSync(folder).sort().at(-1);
  return newest === undefined ? 0 : statSync(join(folder, newest)).size;
};

const residentOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]) * 1024;

/** Straight into the event store's file, while no process holds it. */
const fill = async (system: TestSystem): Promise<void> => {
  await system.eventStore.stop();
  const ports = { clock: systemClock, timers: systemTimers, ids: systemIds };
  const log = EventLog.open(join(system.folder, 'events.db'), ports);
  for (const nodeId of NODES) append(log, `node-${nodeId}`, nodeStart(nodeId));
  for (let number = 0; number < JOBS; number += 1) {
    const [jobId, nodeId] = [jobIdOf(number), NODES[number % NODES.length]!];
    const { job, node } = ran(jobId, nodeId);
    append(log, `job-${jobId}`, [submitted(jobId), ...job]);
    append(log, `node-${nodeId}`, node);
    if (log.full) await log.room();
  }
  await log.close();
  await system.eventStore.start();
};

const jobIdOf = (number: number): string => `01890a5d-ac96-774b-bcce-${String(number).padStart(12, '0')}`;

const METADATA = Buffer.from(JSON.stringify({ schemaVersion: 1, actor: 'bench' }));

const append = (log: EventLog, stream: string, events: readonly LoggedEvent[]): void => {
  const proposed = events.map(({ type, data }) => {
    return { id: randomUUID(), type, json: true, data: Buffer.from(JSON.stringify(data)), metadata: METADATA };
  });
  const fail = (error: Error): void => {
    throw error;
  };
  log.write({
    request: { kind: 'append', stream, expected: { kind: 'any' }, events: proposed },
    bytes: proposed.reduce((sum, { data }) => sum + data.length, 0),
    settle: ({ kind }) => {
      if (kind !== 'stored') throw new Error(`${stream} was not appended to: ${kind}`);
    },
    fail,
  });
};

/** The view in this process: what a job costs in memory, and how long writing it down keeps the fold waiting. */
const weigh = async (folder: string): Promise<Row[]> => [
  await weighOne('a view of finished jobs', 100_000, join(folder, 'finished'), (jobId) => [
    submitted(jobId),
    ...ran(jobId, NODES[0]!).job,
  ]),
  await weighOne('a view of waiting jobs', 100_000, join(folder, 'waiting'), (jobId) => [submitted(jobId)]),
];

const weighOne = async (
  what: string,
  jobs: number,
  folder: string,
  life: (jobId: string) => LoggedEvent[],
): Promise<Row> => {
  const before = heap();
  const cluster = emptyCluster();
  let position = 0n;
  for (let number = 0; number < jobs; number += 1) {
    const stream = `job-${jobIdOf(number)}`;
    // Through text, as events come from a store: nothing is shared between them.
    const events = JSON.parse(JSON.stringify(life(jobIdOf(number)))) as LoggedEvent[];
    events.forEach((event, revision) =>
      applyEvent(cluster, { stream, revision: BigInt(revision), position: (position += 1n), ...event }),
    );
  }
  const bytes = (heap() - before) / jobs;
  const standing = await save(cluster, folder);
  return row(`${what} (${String(jobs)})`, {
    'bytes/job': String(Math.round(bytes)),
    'ms standing still': standing.toFixed(0),
    'snapshot MB': megabytes(newestIn(folder)),
  });
};

const save = async (cluster: ClusterState, folder: string): Promise<number> => {
  const log = { debug: console.error, info: console.error, warn: console.error, error: console.error };
  const store = new SnapshotFolder(folder, { clock: systemClock, ids: systemIds });
  const events = undefined as unknown as EventStore;
  const snapshots = new Snapshots({ store, events, timers: systemTimers, log, every: 1 });
  const began = performance.now();
  const last = { stream: 'job-x', revision: 0n, position: cluster.position, id: 'x' };
  const { taken, over } = snapshots.save(last, cluster, []);
  await taken;
  const standing = performance.now() - began;
  await over;
  return standing;
};

const heap = (): number => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
};
