import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  count,
  drainSoon,
  enrolLabelled,
  eventsOf,
  eventually,
  heldOn,
  statesOf,
  submitLabelled,
  TestSystem,
  violations,
  wholeLog,
} from '../system/index.js';
import type { Assigned, ProtocolNode, RawEvent } from '../system/index.js';

/** Seconds of silence until a node is offline, and from then until what it ran is lost. */
const [OFFLINE, LOST] = [8, 4];
const LEASE = (OFFLINE + LOST) * 1000;

/**
 * What becomes of a job's tries when nodes fall silent, take long to stop, or are not there. Most of it is waiting for a lease
 * to end, so the stories run side by side: each begins with the first test, which is there when its own has an end.
 */
describe('the attempts of a job', () => {
  let system: TestSystem;
  let stories: Record<keyof typeof told, Promise<void>>;
  const beats: NodeJS.Timeout[] = [];

  beforeAll(async () => {
    const env = { ESCALON_OFFLINE_AFTER: String(OFFLINE), ESCALON_LOST_AFTER: String(LOST) };
    system = await TestSystem.start({ env });
    const begun = Object.entries(told).map(([name, tell]) => [name, tell()] as const);
    for (const [, story] of begun) story.catch(() => undefined);
    stories = Object.fromEntries(begun) as typeof stories;
  });

  afterAll(async () => {
    for (const beat of beats) clearInterval(beat);
    await system.stop();
  });

  /** One that says something every second from now on. */
  const there = async (name: string, label: string): Promise<ProtocolNode> => {
    const node = await enrolLabelled(system, name, label);
    beats.push(setInterval(() => void node.heartbeat().catch(() => undefined), 1_000));
    return node;
  };
  const submit = (label: string, change: object = {}): Promise<string> => submitLabelled(system, label, change);
  const events = (jobId: string): Promise<RawEvent[]> => eventsOf(system.researcher(), jobId);
  const job = (jobId: string): Promise<Record<string, unknown>> => system.researcher().get(`/jobs/${jobId}`);
  const inState = (jobId: string, wanted: string): Promise<Record<string, unknown>> =>
    eventually(
      () => job(jobId),
      ({ state }) => state === wanted,
    );
  const reaches = (jobId: string, type: string, times = 1): Promise<RawEvent[]> =>
    eventually(
      () => events(jobId),
      (all) => count(all, type) >= times,
    );
  const started = async (node: ProtocolNode, jobId: string): Promise<Assigned> => {
    const execution = await node.assigned(jobId);
    await node.report('confirm', execution);
    await node.report('start', execution);
    return execution;
  };
  const partition = async (jobId: string) => statesOf(await events(jobId)).at(-1)?.partitions[0];
  const firstOf = (all: readonly RawEvent[], wanted: string) => all.find(({ type }) => type === wanted);
  const at = ({ data }: RawEvent): number => Date.parse(String(data.at));
  const drain = (name: string): Promise<unknown> => drainSoon(system.operator(), name);

  const broken = { class: 'infrastructure', code: 'sandbox' };

  const told = {
    late: async (): Promise<void> => {
      const first = await enrolLabelled(system, 'late-1', 'late');
      const jobId = await submit('late', { retry: { attempts: 2, interval: '1s' } });
      const old = await started(first, jobId);
      await reaches(jobId, 'JobRequeued');
      // Nowhere to go for a while.
      await eventually(
        () => job(jobId),
        ({ state, decisions }) => state === 'queued' && Number(decisions) >= 2,
      );
      const lost = { class: 'node-lost', code: 'node-lost', message: expect.stringMatching(/^node late-1 was silent/) };
      expect(await job(jobId)).toMatchObject({ failure: lost });
      const second = await there('late-2', 'late');
      const current = await started(second, jobId);
      expect(current.attempt).toBe(2);

      const before = { shown: await inState(jobId, 'running'), part: await partition(jobId) };
      const report = { class: 'application', code: 'exit-code', exitCode: 3, message: 'exit code 3' };
      const answer = await first.report('fail', old, report);
      expect(answer).toMatchObject({ accepted: false, reason: 'EXECUTION_ENDED: lost' });
      expect(await first.report('fail', old, report)).toEqual(answer);
      const [stale, ...more] = (await events(jobId)).filter(({ type }) => type === 'LateResultRejected');
      expect([stale?.data, more]).toMatchObject([{ executionId: old.executionId, report: 'fail' }, []]);
      const { state, failure, attempt, nodeId } = before.shown;
      expect(await job(jobId)).toMatchObject({ state, failure, attempt, nodeId });
      expect([state, attempt, nodeId, before.part?.failures]).toEqual(['running', 2, 'late-2', 1]);
      expect(await partition(jobId)).toEqual(before.part);

      await second.report('fail', current, { ...broken, message: 'no CUDA driver' });
      expect(await inState(jobId, 'failed')).toMatchObject({ failure: { ...broken, message: 'no CUDA driver' } });
      expect(count(await events(jobId), 'ExecutionReserved', 'JobRequeued')).toBe(3);
    },

    /** Its lock is free when no process that got it is left, so a second holder would end with exit code 9. */
    slowStop: async (): Promise<void> => {
      const [lock, go] = [join(system.folder, 'exclusive'), join(system.folder, 'exclusive-go')];
      const script = `trap '' TERM; until [ -e '${go}' ]; do sleep 0.1; done`;
      const task = { command: ['flock', '-n', '-E', '9', lock, 'sh', '-c', script] };
      const config = { labels: { test: 'slow' }, grace: '3s', probes: { python: false } };
      await system.addAgent('slow-1', { config });
      const jobId = await submit('slow', { task });
      await reaches(jobId, 'ExecutionStarted');
      await system.addAgent('slow-2', { config });
      await drain('slow-1');
      const all = await reaches(jobId, 'ExecutionStarted', 2);
      const [asked, ended] = ['ExecutionStopRequested', 'ExecutionCancelled'].map((type) => firstOf(all, type));
      // It ignores SIGTERM, so the agent has waited for its whole grace in between.
      expect(Number(ended!.revision)).toBeGreaterThan(Number(asked!.revision));
      const reserved = all.filter(({ type }) => type === 'ExecutionReserved');
      expect(reserved.map(({ data }) => [data.nodeId, data.attempt])).toEqual([
        ['slow-1', 1],
        ['slow-2', 1],
      ]);
      expect(Number(reserved[1]!.revision)).toBeGreaterThan(Number(ended!.revision));
      await writeFile(go, '');
      await inState(jobId, 'completed');
    },

    neverStops: async (): Promise<void> => {
      const first = await enrolLabelled(system, 'mute-1', 'mute');
      const jobId = await submit('mute', { retry: { attempts: 2, interval: '1s' } });
      await started(first, jobId);
      const second = await there('mute-2', 'mute');
      const heard = Date.now();
      await first.heartbeat();
      await drain('mute-1');
      await reaches(jobId, 'ExecutionStopRequested');
      await second.succeed(await second.assigned(jobId));
      const all = await reaches(jobId, 'JobCompleted');
      const lost = firstOf(all, 'ExecutionLost')!;
      expect(at(lost) - heard).toBeGreaterThanOrEqual(LEASE - 1_000);
      const [, next] = all.filter(({ type }) => type === 'ExecutionReserved');
      expect(Number(next!.revision)).toBeGreaterThan(Number(lost.revision));
    },

    ownReason: async (): Promise<void> => {
      const node = await there('own-1', 'own');
      const fails = { class: 'application', code: 'exit-code', exitCode: 3 };
      const retry = { attempts: 2, interval: '1s', backoff: 'constant', on: ['application'] };
      const jobId = await submit('own', { retry });
      const first = await started(node, jobId);
      await system.operator().post('/nodes/own-1/cordon', { reason: 'new disks' });
      await node.report('fail', first, { ...fails, message: 'exit code 3: no such column' });
      const waits = await eventually(
        () => job(jobId),
        ({ reason }) => String(reason).includes('cordoned'),
      );
      expect(waits).toMatchObject({ state: 'queued', failure: { message: 'exit code 3: no such column' } });
      await system.operator().post('/nodes/own-1/uncordon');
      await node.report('fail', await started(node, jobId), { ...fails, message: 'exit code 3: as before' });
      expect(await inState(jobId, 'failed')).toMatchObject({
        failure: { class: 'application', code: 'exit-code', message: 'exit code 3: as before' },
        reason: 'exit code 3: as before',
      });
      expect(count(await events(jobId), 'ExecutionReserved')).toBe(2);

      const without = await submit('own', { retry, timeouts: { queue: '5s' } });
      const last = await started(node, without);
      await system.operator().post('/nodes/own-1/cordon', { reason: 'new disks' });
      await node.report('fail', last, { ...fails, message: 'exit code 3: no such column' });
      expect(await inState(without, 'failed')).toMatchObject({
        reason:
          'timed out after 5 s in the queue; the last error of a run was application: exit code 3: no such column',
      });
    },

    permanent: async (): Promise<void> => {
      const node = await there('permanent-1', 'permanent');
      for (const kind of ['application', 'input', 'policy', 'timeout', 'resource']) {
        const jobId = await submit('permanent', { retry: { attempts: 3, interval: '1s' } });
        const failure = { class: kind, code: 'x', message: `for good: ${kind}` };
        await node.report('fail', await started(node, jobId), failure);
        expect(await inState(jobId, 'failed')).toMatchObject({ failure, reason: failure.message });
        expect(count(await events(jobId), 'ExecutionReserved', 'JobRequeued')).toBe(1);
      }
    },

    /** Nothing sweeps in a test's time: its interval is five minutes. */
    daemon: async (): Promise<void> => {
      const jobId = await submit('everywhere', { type: 'daemon' });
      const config = { labels: { test: 'everywhere' }, probes: { python: false } };
      for (const [index, name] of ['joins-1', 'joins-2'].entries()) {
        await system.addAgent(name, { config });
        const all = await reaches(jobId, 'ExecutionReserved', index + 1);
        const [joined] = (await wholeLog(system.operator())).filter(
          ({ type, stream }) => type === 'NodeEnrolled' && stream === `node-${name}`,
        );
        const mine = all.filter(({ data }) => JSON.stringify(data).includes(name));
        const [targets, decision, reserved] = ['TargetsChanged', 'PlacementDecided', 'ExecutionReserved'].map((type) =>
          firstOf(mine, type),
        );
        expect([targets?.data.added, decision?.data.winner, reserved?.data.nodeId]).toMatchObject([
          [{ nodeId: name }],
          name,
          name,
        ]);
        // One append holds both; whichever the job was woken by.
        expect(['NodeEnrolled', 'NodeWentOnline']).toContain(decision?.data.trigger);
        expect(BigInt(String(targets?.data.position))).toBeGreaterThanOrEqual(BigInt(joined!.position));
      }
      await system.researcher().post(`/jobs/${jobId}/cancel`, { reason: 'seen enough' });
      await inState(jobId, 'cancelled');
    },
  };

  it('S-08 R-05 attempt 1 on N1 is lost, attempt 2 runs on N2, N1 reports failure: attempt 2 is untouched, the report is stale, and the counter outlives a time without nodes', () =>
    stories.late);

  it('S-07 R-04 an exclusive job whose stop takes long: the next attempt starts only when the end is confirmed', () =>
    stories.slowStop);

  it('S-08 an exclusive job whose stop is never confirmed: the next attempt starts only when the lease is over', () =>
    stories.neverStops);

  it('R-05 a job failing for its own reason: attempts within the limit, failed, last error shown, never replaced by a want of nodes', () =>
    stories.ownReason);

  it('R-03 a permanent class: one attempt', () => stories.permanent);

  it('S-05 a node that joins later gets its daemon execution by its own event, not by a sweep', () => stories.daemon);

  it('leaves a log in which everything ended once and was given back', async () => {
    const names = [
      'late-1',
      'late-2',
      'slow-1',
      'slow-2',
      'mute-1',
      'mute-2',
      'own-1',
      'permanent-1',
      'joins-1',
      'joins-2',
    ];
    const log = await eventually(
      () => wholeLog(system.operator()),
      (all) => names.every((name) => heldOn(all, name).length === 0),
    );
    expect(violations(log)).toEqual([]);
    expect(system.report()).not.toMatch(/"level":(50|60)|"level":"(error|fatal)"/);
  });
});
