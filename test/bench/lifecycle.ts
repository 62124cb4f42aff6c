import { availableParallelism, loadavg } from 'node:os';
import { count, heldOn, violations, wholeLog } from '../system/index.js';
import type { BenchResult } from './bench-result.js';
import { LifecycleSystem, NODES } from './lifecycle-system.js';
import type { ProcessName, ProcessorTimes } from './lifecycle-system.js';
import { quantile, sharedNow } from './measures.js';

/* Jobs from their submission over HTTP to their result in the list, through every process there is. First as many as the
 * system can take, with a bounded number under way; then fifty a second, to see how long one takes when nothing is full. */

type Row = BenchResult['rows'][number];

const number = (name: string, fallback: number): number => Number(process.env[name] ?? fallback);

const WARM_UP = number('BENCH_WARM_UP', 500);
const JOBS = number('BENCH_JOBS', 3_000);
/** Jobs submitted and not ended. */
const UNDER_WAY = number('BENCH_UNDER_WAY', 200);
const OFFERED_PER_SECOND = number('BENCH_OFFERED_PER_SECOND', 50);
const OFFERED = number('BENCH_OFFERED', 1_000);
/** Every how many jobs the list is read until the job is in it: each costs a request more. */
const LOOK_EVERY = 5;
const PROCESSES: readonly ProcessName[] = ['orchestrator', 'event store', 'postgres', 'agents', 'submitter'];

/** Takes about a minute. Needs `dist/` and Linux. */
export const benchLifecycle = async (): Promise<BenchResult> => {
  const bench = await LifecycleSystem.start();
  try {
    await closedLoad(bench, 'warm-up', WARM_UP);
    const rows = [await measure(bench, JOBS, () => closedLoad(bench, 'closed', JOBS))];
    if (OFFERED > 0) rows.push(await measure(bench, OFFERED, () => offeredLoad(bench)));
    const events = await check(bench, WARM_UP + JOBS + OFFERED);
    return { name: 'lifecycle', rows, notes: notes(events / (WARM_UP + JOBS + OFFERED)) };
  } finally {
    await bench.stop();
  }
};

const measure = async (bench: LifecycleSystem, jobs: number, run: () => Promise<Row>): Promise<Row> => {
  const before = bench.processorTimes();
  const row = await run();
  return { ...row, ...costs(before, bench.processorTimes(), jobs) };
};

/** Milliseconds of processor time for each job. */
const costs = (before: ProcessorTimes, after: ProcessorTimes, jobs: number): Row => {
  const spent = PROCESSES.map((name) => [name, (after[name] - before[name]) / 1000 / jobs] as const);
  const all = spent.reduce((sum, [, share]) => sum + share, 0);
  return Object.fromEntries(
    [...spent, ['all' as const, all] as const].map(([of, ms]) => [`${of} ms/job`, ms.toFixed(2)]),
  );
};

/** As fast as they go with so many under way, until every one is in the list as completed. */
const closedLoad = async (bench: LifecycleSystem, name: string, jobs: number): Promise<Row> => {
  const begun = sharedNow();
  const spans: number[] = [];
  let next = 0;
  const submitter = async (): Promise<void> => {
    while (next < jobs) {
      next += 1;
      const submitted = sharedNow();
      const { id } = await bench.submit(name);
      await bench.ended(id);
      spans.push(bench.timesOf(id).assigned! - submitted);
    }
  };
  await Promise.all(Array.from({ length: UNDER_WAY }, submitter));
  await allCompleted(bench, name, jobs);
  const seconds = (sharedNow() - begun) / 1000;
  return rowOf(`${String(UNDER_WAY)} under way`, jobs, seconds, spans, []);
};

/** At even intervals, whatever the system does; a job counts from the moment at which it was due. */
const offeredLoad = async (bench: LifecycleSystem): Promise<Row> => {
  const begun = sharedNow();
  const assigned: number[] = [];
  const readable: number[] = [];
  const one = async (index: number): Promise<void> => {
    const due = begun + (index * 1000) / OFFERED_PER_SECOND;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - sharedNow())));
    const { id, position } = await bench.submit(`offered-${String(index)}`);
    if (index % LOOK_EVERY === 0) {
      const { items } = await bench.list(`name=offered-${String(index)}&limit=1`, position);
      if (items[0]?.id !== id) throw new Error(`job ${id} is not in the list after its position was passed`);
      readable.push(sharedNow() - due);
    }
    await bench.ended(id);
    assigned.push(bench.timesOf(id).assigned! - due);
  };
  await Promise.all(Array.from({ length: OFFERED }, (_, index) => one(index)));
  return rowOf(`${String(OFFERED_PER_SECOND)}/s offered`, OFFERED, (sharedNow() - begun) / 1000, assigned, readable);
};

const rowOf = (load: string, jobs: number, seconds: number, assigned: number[], readable: number[]): Row => {
  const at = (samples: number[], share: number) => (samples.length > 0 ? quantile(samples, share).toFixed(1) : '');
  return {
    load,
    jobs,
    'jobs/s': (jobs / seconds).toFixed(1),
    'assigned p50 ms': at(assigned, 0.5),
    'assigned p99 ms': at(assigned, 0.99),
    'readable p50 ms': at(readable, 0.5),
    'readable p99 ms': at(readable, 0.99),
  };
};

/** Pages through the list until all are there. */
const allCompleted = async (bench: LifecycleSystem, name: string, jobs: number): Promise<void> => {
  for (let found = 0; found < jobs;) {
    found = 0;
    for (let next: string | null = ''; next !== null;) {
      const cursor = next === '' ? '' : `&cursor=${next}`;
      const page = await bench.list(`state=completed&name=${name}&limit=200${cursor}`);
      found += page.items.length;
      next = page.next;
    }
  }
};

/** Each job completed exactly once, and every ledger empty. Answers how many events it took. */
const check = async ({ system }: LifecycleSystem, jobs: number): Promise<number> => {
  for (let patience = 100; ; patience -= 1) {
    const log = await wholeLog(system.operator());
    const wrong = violations(log);
    const completed = count(log, 'JobCompleted');
    const held = NODES.flatMap((node) => heldOn(log, node));
    if (completed !== jobs) wrong.push(`${String(completed)} of ${String(jobs)} jobs completed`);
    if (held.length > 0) wrong.push(`still held: ${held.join(', ')}`);
    if (wrong.length === 0) return log.length;
    if (patience === 0) throw new Error(wrong.join('\n'));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

const notes = (eventsPerJob: number): string[] => [
  `${String(NODES.length)} simulated agents whose tasks take no time; every transition is on disk before it is answered`,
  `${eventsPerJob.toFixed(1)} events a job; each job completed once, all ledgers empty at the end`,
  `all processes share ${String(availableParallelism())} cores; load average ${loadavg()[0]!.toFixed(1)} at the end`,
];
