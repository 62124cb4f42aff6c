import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectEventStore, START } from '#event-store';
import type { ConnectedEventStore, RecordedEvent } from '#event-store';
import { systemClock, systemRandom, systemTimers } from '#kernel';
import {
  count,
  eventsOf,
  eventually,
  heldOn,
  stateName,
  TestSystem,
  typesOf,
  violations,
  wholeLog,
} from '../system/index.js';

const ENDED = ['completed', 'failed', 'cancelled'];

/** Every process is killed at the worst moment, and nobody helps afterwards. */
describe('after a crash', () => {
  let system: TestSystem;
  let store: ConnectedEventStore;

  beforeAll(async () => {
    system = await TestSystem.start();
    await system.addAgent('lab-a');
    const ports = { clock: systemClock, timers: systemTimers, random: systemRandom };
    store = connectEventStore({ connectionString: system.eventStoreUrl, ...ports });
  });

  afterAll(async () => {
    await store.close();
    await system.stop();
  });

  const submit = async (milliseconds: number, change: object = {}): Promise<string> => {
    const script = `setTimeout(() => require('fs').writeFileSync('r', 'done'), ${String(milliseconds)})`;
    const spec = {
      name: 'crash',
      project: 'demo',
      task: { command: ['node', '-e', script] },
      outputs: ['r'],
      retry: { interval: '1s' },
      ...change,
    };
    return (await system.researcher().post<{ id: string }>('/jobs', spec)).id;
  };

  /** The job's events straight from the store: the control plane may be down. */
  const recorded = async (jobId: string): Promise<RecordedEvent[]> => {
    const events: RecordedEvent[] = [];
    for await (const event of store.readStream(`job-${jobId}`)) events.push(event);
    return events;
  };

  const completed = async (jobId: string): Promise<void> => {
    const types = await eventually(
      async () => (await recorded(jobId)).map(({ type }) => type),
      (all) => all.includes('JobCompleted') || all.includes('JobFailed'),
    );
    expect(types.filter((type) => ['JobCompleted', 'JobFailed', 'JobCancelled'].includes(type))).toEqual([
      'JobCompleted',
    ]);
    expect(types.filter((type) => type === 'ExecutionSucceeded')).toHaveLength(1);
  };

  const settled = async (): Promise<void> => {
    const log = await eventually(
      () => wholeLog(system.operator()),
      (events) => heldOn(events, 'lab-a').length === 0,
    );
    expect(violations(log)).toEqual([]);
  };

  /** Resolves the moment an event of this type is in the log. */
  const seen = (type: string, after: bigint): Promise<void> =>
    new Promise((resolve) => {
      const subscription = store.subscribe(
        { after, filter: { streamPrefixes: ['job-', 'node-'] } },
        {
          event: (event) => {
            if (event.type !== type) return;
            resolve();
            void subscription.stop();
          },
        },
      );
    });

  const APPENDS = [
    'JobSubmitted',
    'CapacityReserved',
    'ExecutionReserved',
    'ReservationConfirmed',
    'ExecutionStarted',
    'ExecutionPublishing',
    'JobCompleted',
  ];

  it.each(APPENDS)('A-46 the control plane, killed right after %s, goes on where it was', async (type) => {
    const moment = seen(type, await store.head());
    const submitted = submit(300).catch(() => undefined);
    await moment;
    await system.orchestrators[0]!.kill('SIGKILL');
    await system.orchestrators[0]!.start();
    // The answer to the submission may have been lost with the process: the job is in the log all the same.
    const jobId = (await submitted) ?? (await lastJob());
    await completed(jobId);
    await settled();
  });

  const lastJob = async (): Promise<string> => {
    let last = '';
    for await (const { type, stream } of store.readAll({ after: START, filter: { streamPrefixes: ['job-'] } })) {
      if (type === 'JobSubmitted') last = stream.slice('job-'.length);
    }
    return last;
  };

  it('A-46 E-05 the agent, killed during a run, takes it back: one result', async () => {
    const jobId = await submit(3_000);
    await eventually(
      async () => (await recorded(jobId)).map(({ type }) => type),
      (types) => types.includes('ExecutionStarted'),
    );
    await system.agents.get('lab-a')!.kill('SIGKILL');
    await system.agents.get('lab-a')!.start();
    await completed(jobId);
    expect(count(await eventsOf(system.researcher(), jobId), 'ExecutionReserved')).toBe(1);
    await settled();
  });

  it('the event store, killed during a run: no event is lost, the job ends', async () => {
    const jobId = await submit(1_000);
    await eventually(
      async () => (await recorded(jobId)).map(({ type }) => type),
      (types) => types.includes('ExecutionStarted'),
    );
    const before = typesOf(await eventsOf(system.researcher(), jobId));
    await system.eventStore.kill('SIGKILL');
    await eventually(
      async () => (await fetch(`${system.url}/readyz`)).status,
      (status) => status === 503,
    );
    await system.eventStore.start();
    await completed(jobId);
    expect(typesOf(await eventsOf(system.researcher(), jobId)).slice(0, before.length)).toEqual(before);
    await eventually(
      async () => (await fetch(`${system.url}/readyz`)).status,
      (status) => status === 200,
    );
    await settled();
  });

  it('Postgres, killed during a run: the job ends, and the read models catch up by themselves', async () => {
    const jobId = await submit(1_000);
    process.kill(system.postgres.pid, 'SIGKILL');
    await system.postgres.exited;
    await system.restartPostgres();
    await completed(jobId);
    const job = await eventually(
      () => system.researcher().get(`/jobs/${jobId}`),
      ({ state }) => ENDED.includes(String(state)),
    );
    expect(job.state).toBe('completed');
    expect(stateName(await eventsOf(system.researcher(), jobId))).toBe('completed');
    await settled();
  });
});
