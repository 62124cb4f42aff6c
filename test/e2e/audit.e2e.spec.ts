import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryEventStore, MemoryLog } from '#event-store';
import type { RecordedEvent } from '#event-store';
import { decisionPoints, verifyPoint } from '#scheduling';
import type { Verdict } from '#scheduling';
import { eventually, TestSystem, wholeLog } from '../system/index.js';
import type { RawEvent } from '../system/index.js';

const EQUAL = 'resources=20,reliability=20,availability=20,queue=20,cost=20';

/** Jobs on real processes; then every decision that was made for them is made again. */
describe('the audit of a real system', () => {
  let system: TestSystem;
  let log: RawEvent[];
  let impossible: string;

  beforeAll(async () => {
    system = await TestSystem.start();
    await system.addAgent('lab-a');
    await system.addAgent('lab-b');
    const api = system.researcher();
    const command = ['node', '-e', '0'];
    const job = { name: 'short', project: 'demo', resources: { cpu: 0.1, memory: '128MiB' }, task: { command } };
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) ids.push((await api.post<{ id: string }>('/jobs', job)).id);
    const huge = { ...job, resources: { cpu: 0.1, memory: '900TiB' } };
    impossible = (await api.post<{ id: string }>('/jobs', huge)).id;
    for (const id of ids) {
      await eventually(
        () => api.get<{ state: string }>(`/jobs/${id}`),
        ({ state }) => state === 'completed',
      );
    }
    await decided(impossible, 1);
    log = await wholeLog(system.operator());
  });

  const decided = (id: string, number: number): Promise<unknown> =>
    eventually(
      () => system.operator().request('GET', `/jobs/${id}/decisions/${String(number)}`),
      ({ status }) => status === 200,
    );

  afterAll(async () => {
    await system.stop();
  });

  const decisions = (): RawEvent[] => log.filter(({ type }) => type === 'PlacementDecided');

  it('A-18 A-20 A-21 derives every recorded decision, over REST and GraphQL, and counts each', async () => {
    const auditor = system.operator();
    const count = decisions().length;
    expect(count).toBeGreaterThanOrEqual(7);
    const summary = { verified: count, otherVersion: 0, differing: 0, differences: [] };
    expect(await auditor.get('/audit/verify')).toMatchObject(summary);
    const { body } = await auditor.request('POST', '/graphql', { query: '{ auditVerify }' });
    expect(body.data.auditVerify).toMatchObject(summary);
    const last = decisions().at(-1)!;
    const one = await auditor.get(`/audit/verify?from=${decisions().at(-2)!.position}&to=${last.position}`);
    expect(one).toMatchObject({ verified: 1 });
    const ofJob = await auditor.get(`/audit/verify?job=${last.stream.slice('job-'.length)}`);
    expect(ofJob).toMatchObject({ differing: 0 });
    expect(ofJob.verified).toBeGreaterThan(0);
  });

  it('A-66 says which decisions other weights would have made otherwise', async () => {
    const answer = await system.operator().get(`/whatif?weights=${EQUAL}`);
    expect(answer.considered).toBe(decisions().length);
    expect(answer.changes).toHaveLength(answer.changed);
    expect(Object.keys(answer.byProject)).toEqual(['demo']);
  });

  it('is for operators and auditors, and names what is wrong with a request', async () => {
    expect(await system.researcher().request('GET', '/audit/verify')).toMatchObject({ status: 403 });
    expect(await system.operator().request('GET', '/audit/verify?from=x&job=1')).toMatchObject({ status: 422 });
    expect(await system.operator().request('GET', '/audit/verify?job=nothing')).toMatchObject({ status: 404 });
    expect(await system.operator().request('GET', '/whatif?weights=resources=1')).toMatchObject({ status: 422 });
  });

  it('A-20 A-88 explains a job that waits: the smallest change, and the time waited by cause', async () => {
    const answer = await system.researcher().get(`/jobs/${impossible}/decisions/1`);
    expect(answer.smallestChange).toMatchObject({ kind: 'job', changes: [{ requirement: 'resources.memory' }] });
    expect(answer.explanation.join('\n')).toContain(
      'Smallest change that would start it now: resources.memory 900 TiB → ',
    );
    const { seconds, causes } = answer.waited;
    expect(causes.map(({ cause }: { cause: string }) => cause)).toContain('capacity.memory');
    expect(causes.reduce((sum: number, one: { seconds: number }) => sum + one.seconds, 0)).toBeCloseTo(seconds, 6);
    const query = `{ decision(id: "${impossible}", number: 1) }`;
    const { body } = await system.researcher().request('POST', '/graphql', { query });
    expect(body.data.decision.smallestChange).toEqual(answer.smallestChange);
  });

  it('A-99 names no node of an institution that the reader has no part in, except where his job runs', async () => {
    await system.operator().put('/projects/sea', { institution: 'sea', members: ['bia'] });
    const bia = system.researcher('bia');
    await system.operator().put('/projects/demo', { institution: 'here', members: ['ada'] });
    const task = { command: ['node', '-e', '0'] };
    const job = { name: 'far', project: 'sea', resources: { cpu: 0.1, memory: '128MiB' }, task };
    // Who may see what is told by a view that follows the log.
    await eventually(
      () => bia.get('/nodes'),
      ({ items }) => items.length === 0,
    );
    const plan = await bia.post('/jobs/plan', job);
    expect(plan).toMatchObject({ outcome: 'placed', withheld: 2, winner: "another institution's node 1" });
    expect(JSON.stringify(plan)).not.toMatch(/lab-[ab]/);
    const all = await system.operator().get('/nodes');
    expect(all.items.map((node: { id: string }) => node.id)).toEqual(['lab-a', 'lab-b']);
    expect(await bia.request('GET', '/nodes/lab-a')).toMatchObject({ status: 404 });
    const { id } = await bia.post<{ id: string }>('/jobs', job);
    await decided(id, 1);
    const { winner } = await system.operator().get(`/jobs/${id}/decisions/1`);
    const other = winner === 'lab-a' ? 'lab-b' : 'lab-a';
    for (const part of ['decisions', 'decisions/1', `decisions/1?node=${winner}`, 'timeline', 'events']) {
      const text = JSON.stringify(await bia.get(`/jobs/${id}/${part}`));
      expect([part, text.includes(winner), text.includes(other)]).toEqual([part, true, false]);
    }
    const whyNot = await bia.get(`/jobs/${id}/decisions/1?node=${other}`);
    expect(whyNot.explanation).toEqual([`At decision 1 there was no node ${other}.`]);
    expect(JSON.stringify(whyNot.ranking)).not.toContain(other);
  });

  it('A-88 A-89 a decision that was tampered with in a copy of the log is found, and it alone', async () => {
    const chosen = decisions().find(({ data }) => data.outcome === 'placed')!;
    const copy = new MemoryLog();
    for (const event of log) {
      const data = event === chosen ? { ...event.data, winner: 'lab-z' } : event.data;
      copy.events.push(recorded({ ...event, data }));
    }
    const verdicts: Verdict[] = [];
    const store = new MemoryEventStore({ log: copy });
    for await (const point of decisionPoints(store, {})) verdicts.push(verifyPoint(point));
    expect(verdicts).toHaveLength(decisions().length);
    const wrong = verdicts.filter(({ kind }) => kind !== 'verified');
    const differences = [{ path: '/winner', recorded: 'lab-z', derived: chosen.data.winner }];
    expect(wrong).toEqual([{ kind: 'differs', differences }]);
  });
});

/** An event as the store gives it, with the position that it had: decisions name positions. */
const recorded = ({ revision, position, metadata, ...event }: RawEvent): RecordedEvent => ({
  ...event,
  id: `${event.stream}/${revision}`,
  revision: BigInt(revision),
  position: BigInt(position),
  recordedAt: 0,
  metadata: metadata as unknown as RecordedEvent['metadata'],
});
