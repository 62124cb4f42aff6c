import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryEventStore, MemoryLog } from '#event-store';
import type { RecordedEvent } from '#event-store';
import { decisionPoints, verifyDecision } from '#scheduling';
import type { Verdict } from '#scheduling';
import { eventually, TestSystem, wholeLog } from '../system/index.js';
import type { RawEvent } from '../system/index.js';

const EQUAL = 'resources=20,reliability=20,availability=20,queue=20,cost=20';

/** Jobs on real processes; then every decision that was made for them is made again. */
describe('the audit of a real system', () => {
  let system: TestSystem;
  let log: RawEvent[];

  beforeAll(async () => {
    system = await TestSystem.start();
    await system.addAgent('lab-a');
    await system.addAgent('lab-b');
    const api = system.researcher();
    const command = ['node', '-e', '0'];
    const job = { name: 'short', project: 'demo', resources: { cpu: 0.1, memory: '16MiB' }, task: { command } };
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) ids.push((await api.post<{ id: string }>('/jobs', job)).id);
    await api.post('/jobs', { ...job, resources: { cpu: 0.1, memory: '900TiB' } });
    for (const id of ids) {
      await eventually(
        () => api.get<{ state: string }>(`/jobs/${id}`),
        ({ state }) => state === 'completed',
        60_000,
      );
    }
    log = await wholeLog(system.operator());
  });

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

  it('A-88 A-89 a decision that was tampered with in a copy of the log is found, and it alone', async () => {
    const chosen = decisions().find(({ data }) => data.outcome === 'placed')!;
    const copy = new MemoryLog();
    for (const event of log) {
      const data = event === chosen ? { ...event.data, winner: 'lab-z' } : event.data;
      copy.events.push(recorded({ ...event, data }));
    }
    const verdicts: Verdict[] = [];
    const store = new MemoryEventStore({ log: copy });
    for await (const point of decisionPoints(store, {})) verdicts.push(verifyDecision(point));
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
