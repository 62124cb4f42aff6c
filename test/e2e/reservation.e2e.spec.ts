import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  count,
  enrolLabelled,
  eventsOf,
  eventually,
  heldOn,
  ProtocolNode,
  submitLabelled,
  TestSystem,
  typesOf,
  violations,
  wholeLog,
} from '../system/index.js';

/** Time enough for a node that means to answer, on a slow machine too. */
const EXPIRES = { timeouts: { confirm: '4s' } };

/**
 * Nodes that speak the protocol by hand, so that they can be silent, late and repetitive. Where a deadline has to pass, the
 * stories run side by side from the start; the test is there when its own has an end.
 */
describe('a reservation and its node', () => {
  let system: TestSystem;
  let stories: Record<keyof typeof told, Promise<void>>;

  beforeAll(async () => {
    // Only what a test is about runs out: its nodes speak when it has something to say, and stay online meanwhile.
    system = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '600' } });
    const begun = Object.entries(told).map(([name, tell]) => [name, tell()] as const);
    for (const [, story] of begun) story.catch(() => undefined);
    stories = Object.fromEntries(begun) as typeof stories;
  });

  afterAll(async () => {
    await system.stop();
  });

  const enrolled = (name: string, label: string): Promise<ProtocolNode> => enrolLabelled(system, name, label);
  const submit = (label: string, change: object = {}): Promise<string> => submitLabelled(system, label, change);

  const job = (jobId: string): Promise<Record<string, unknown>> => system.researcher().get(`/jobs/${jobId}`);

  const told = {
    silent: async (): Promise<void> => {
      const first = await enrolled('silent-1', 'silent');
      const jobId = await submit('silent', EXPIRES);
      const reserved = await first.assigned(jobId);
      const second = await enrolled('answers-1', 'silent');
      const taken = await second.assigned(jobId);
      expect(await second.report('confirm', taken)).toEqual({ executionId: taken.executionId, accepted: true });
      await second.succeed(taken);

      await eventually(
        () => job(jobId),
        ({ state }) => state === 'completed',
      );
      const events = await eventsOf(system.researcher(), jobId);
      const expired = events.find(({ type }) => type === 'ReservationExpired');
      expect(expired?.data.executionId).toBe(reserved.executionId);
      expect(String(expired?.data.at) >= String(expired?.data.confirmBy)).toBe(true);
      const requeued = events.find(({ type }) => type === 'JobRequeued');
      expect(requeued?.data).toMatchObject({ cause: 'expired', exclude: { nodeId: 'silent-1' } });
      const second_ = events.findLast(({ type }) => type === 'PlacementDecided');
      expect(second_?.data.filtered).toContainEqual(
        expect.objectContaining({ reason: 'node.excluded', side: 'system', nodes: 1 }),
      );
      const log = await eventually(
        () => wholeLog(system.operator()),
        (all) => heldOn(all, 'silent-1').length === 0 && heldOn(all, 'answers-1').length === 0,
      );
      expect(violations(log)).toEqual([]);
    },

    alone: async (): Promise<void> => {
      const only = await enrolled('silent-2', 'alone');
      const jobId = await submit('alone', EXPIRES);
      await only.assigned(jobId);
      const waiting = await eventually(
        () => job(jobId),
        ({ state, decisions }) => state === 'queued' && Number(decisions) >= 2,
      );
      expect(String(waiting.reason)).toMatch(/did not answer this job lately/);
      const events = await eventsOf(system.researcher(), jobId);
      expect(events.at(-1)).toMatchObject({ type: 'PlacementDecided', data: { outcome: 'deferred', eligible: 0 } });
      expect(events.at(-1)?.data.wakesAt).toBeDefined();
      const { items } = await system.researcher().get('/queue');
      const entry = items.find(({ jobId: id }: { jobId: string }) => id === jobId);
      expect(entry).toMatchObject({
        weight: 1,
        place: expect.stringMatching(/^priority \d+, project share [\d.]+ of weight 1, waiting \d+ s$/),
      });
      await system.researcher().post(`/jobs/${jobId}/cancel`, { reason: 'test over' });
    },

    late: async (): Promise<void> => {
      const first = await enrolled('old-1', 'old');
      const jobId = await submit('old', EXPIRES);
      const old = await first.assigned(jobId);
      const second = await enrolled('new-1', 'old');
      const current = await second.assigned(jobId);
      await second.report('confirm', current);

      const late = await first.succeed(old);
      expect(late).toMatchObject({ accepted: false, reason: 'EXECUTION_ENDED: expired' });
      expect(await first.succeed(old)).toEqual(late);
      const wrongToken = await second.succeed({ ...current, fencingToken: current.fencingToken - 1 });
      expect(wrongToken).toMatchObject({ accepted: false, reason: 'STALE_TOKEN' });
      const stranger = await first.succeed(current);
      expect(stranger).toMatchObject({ accepted: false, reason: 'WRONG_NODE' });

      await eventually(
        () => job(jobId),
        ({ state, nodeId }) => state === 'reserved' && nodeId === 'new-1',
      );
      expect((await second.succeed(current)).accepted).toBe(true);
      expect(await first.succeed(old)).toEqual(late);
      const events = await eventsOf(system.researcher(), jobId);
      expect(count(events, 'JobCompleted')).toBe(1);
      expect(events.filter(({ type }) => type === 'LateResultRejected').map(({ data }) => data.reason)).toEqual([
        'EXECUTION_ENDED',
        'STALE_TOKEN',
      ]);
      expect(typesOf(events).indexOf('JobCompleted')).toBe(events.length - 1);
    },

    gone: async (): Promise<void> => {
      const short = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '3', ESCALON_LOST_AFTER: '2' } });
      try {
        const enrol = new ProtocolNode('gone', short.as({ role: 'node', account: 'enrol' }));
        await enrol.enrol();
        const gone = new ProtocolNode('gone', short.node('gone'));
        const spec = { name: 'moves', project: 'demo', task: { command: ['true'] }, retry: { interval: '1s' } };
        const { id } = await short.researcher().post<{ id: string }>('/jobs', spec);
        const execution = await gone.assigned(id);
        await gone.report('confirm', execution);
        await gone.report('start', execution);
        const look = (): Promise<string[]> => eventsOf(short.researcher(), id).then(typesOf);
        await eventually(look, (types) => types.includes('JobRequeued'));
        const events = await eventsOf(short.researcher(), id);
        expect(events.find(({ type }) => type === 'ExecutionLost')?.data.reason).toMatch(/silent for \d+ s/);
        expect(events.find(({ type }) => type === 'JobRequeued')?.data).toMatchObject({
          cause: 'node-lost',
          avoid: 'gone',
        });
        expect(await short.operator().get('/nodes/gone')).toMatchObject({ online: false });
        // It comes back with its result after all: too late, and it is told so.
        expect(await gone.succeed(execution)).toMatchObject({ accepted: false, reason: 'EXECUTION_ENDED: lost' });
      } finally {
        await short.stop();
      }
    },
  };

  it('A-22 A-83 A-84 A-85 expires when the node is silent; the job goes to the other node, the reason is on record', () =>
    stories.silent);

  it('A-85 A-88 waits and says why when no other node is there', () => stories.alone);

  it('A-80 A-86 A-87 two success reports for one execution: one completion, the same answer', async () => {
    const one = await enrolled('twice-1', 'twice');
    const jobId = await submit('twice');
    const execution = await one.assigned(jobId);
    await one.report('confirm', execution);
    await one.report('start', execution);
    const answers = await Promise.all([one.succeed(execution), one.succeed(execution)]);
    expect(answers).toEqual([answers[0], answers[0]]);
    expect(answers[0].accepted).toBe(true);
    expect(await one.succeed(execution)).toEqual(answers[0]);
    const events = await eventsOf(system.researcher(), jobId);
    expect(count(events, 'ExecutionSucceeded')).toBe(1);
    expect(count(events, 'JobCompleted')).toBe(1);
    expect(count(events, 'LateResultRejected')).toBe(0);
  });

  it('A-86 E-07 reports of an old attempt, with an old token, from another node: answered, recorded once, nothing changes', () =>
    stories.late);

  it('R-04 a node that declines costs no attempt', async () => {
    const one = await enrolled('declines-1', 'declines');
    const jobId = await submit('declines');
    const execution = await one.assigned(jobId);
    await one.report('decline', execution, { reason: 'the disk is full' });
    const other = await enrolled('accepts-1', 'declines');
    const next = await other.assigned(jobId);
    expect(next.attempt).toBe(1);
    await other.succeed(next);
    const events = await eventsOf(system.researcher(), jobId);
    expect(events.find(({ type }) => type === 'ReservationDeclined')?.data.reason).toBe('the disk is full');
    await eventually(
      () => job(jobId),
      ({ state }) => state === 'completed',
    );
  });

  it('A-81 A-27 A-28 a node that falls silent is offline and gets nothing; its work goes elsewhere', () =>
    stories.gone);

  it('A-28 A-36 a heartbeat tells how far the node is; the nearer of two equal nodes gets the job', async () => {
    const far = await enrolled('far-1', 'distance');
    const near = await enrolled('near-1', 'distance');
    for (let beats = 0; beats < 3; beats += 1) {
      await far.heartbeat(0.4);
      await near.heartbeat(0.002);
    }
    const distance = (name: string): Promise<Record<string, unknown>> => system.operator().get(`/nodes/${name}`);
    const classOf = (wanted: string) => (shown: Record<string, unknown>) =>
      (shown['latency'] as { latencyClass?: string } | null)?.latencyClass === wanted;
    await eventually(() => distance('far-1'), classOf('remote'));
    await eventually(() => distance('near-1'), classOf('local'));
    const changes = (await wholeLog(system.operator())).filter(({ type }) => type === 'NodeLatencyChanged');
    expect(changes.map(({ stream }) => stream).sort()).toEqual(['node-far-1', 'node-near-1']);
    const jobId = await submit('distance');
    await near.succeed(await near.assigned(jobId));
    await eventually(
      () => job(jobId),
      ({ state }) => state === 'completed',
    );
  });
});
