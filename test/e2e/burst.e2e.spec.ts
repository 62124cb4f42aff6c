import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { count, enrolLabelled, eventually, heldOn, submitLabelled, TestSystem } from '../system/index.js';
import { violations, wholeLog } from '../system/index.js';
import type { ProtocolNode, RawEvent } from '../system/index.js';

const JOBS = 1_000;
const MOST_UNCONFIRMED = 64;
const SUBMITTERS = 20;
const TINY = { resources: { cpu: 0.001, memory: '8MiB' }, timeouts: { confirm: '30m' } };

/** One node that speaks the protocol by hand, and confirms nothing before all of the burst is there. */
describe('a burst of tiny jobs on one node that is slow to confirm', () => {
  let system: TestSystem;
  let node: ProtocolNode;

  beforeAll(async () => {
    // It sends no heartbeats.
    system = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '3600' } });
    node = await enrolLabelled(system, 'slow', 'burst', { cpu: 4, memory: 16 * 1024 ** 3 });
  });

  afterAll(async () => {
    await system.stop();
  });

  const submit = async (): Promise<void> => {
    for (let left = JOBS / SUBMITTERS; left > 0; left -= 1) await submitLabelled(system, 'burst', TINY);
  };

  const log = (): Promise<RawEvent[]> => wholeLog(system.operator());

  /** Confirms what it is given one by one; what is confirmed runs in no time. */
  const work = async (): Promise<void> => {
    const taken = new Set<string>();
    const ends: Promise<unknown>[] = [];
    let after: string | undefined;
    while (taken.size < JOBS) {
      const set = await node.assignments(after, '5s');
      after = set.revision;
      for (const execution of set.executions.filter(({ executionId }) => !taken.has(executionId))) {
        taken.add(execution.executionId);
        await node.report('confirm', execution);
        ends.push(node.succeed(execution));
      }
    }
    await Promise.all(ends);
  };

  it('A-84 A-88 gives it as many as it may have at once, and the other jobs wait and say why', async () => {
    await Promise.all(Array.from({ length: SUBMITTERS }, submit));
    const events = await eventually(log, (all) => count(all, 'PlacementDecided') >= JOBS);
    expect(count(events, 'ExecutionReserved')).toBe(MOST_UNCONFIRMED);
    const reasons = events.filter(({ type }) => type === 'PlacementDecided').flatMap(filtered);
    expect(reasons).toEqual(Array.from({ length: JOBS - MOST_UNCONFIRMED }, () => 'node.unconfirmed'));
    const [waiting] = (await system.researcher().get('/queue?limit=1')).items as { reason: string }[];
    expect(waiting?.reason).toContain('has as many reservations to confirm as it may have at once');
  }, 900_000);

  it('A-84 A-85 never gives it more, and each job completes once', async () => {
    await work();
    const isOver = (all: RawEvent[]): boolean =>
      count(all, 'JobCompleted') === JOBS && heldOn(all, 'slow').length === 0;
    const events = await eventually(log, isOver);
    expect(mostUnconfirmed(events)).toBe(MOST_UNCONFIRMED);
    const of = (type: string): number => count(events, type);
    expect([of('ExecutionReserved'), of('ReservationConfirmed'), of('ExecutionSucceeded')]).toEqual([JOBS, JOBS, JOBS]);
    expect(violations(events)).toEqual([]);
  }, 900_000);
});

const filtered = ({ data }: RawEvent): string[] =>
  (data['filtered'] as readonly { reason: string }[]).map(({ reason }) => reason);

/** By the log alone. */
const mostUnconfirmed = (events: readonly RawEvent[]): number => {
  const open = new Set<unknown>();
  let most = 0;
  for (const { type, data } of events) {
    if (type === 'CapacityReserved') open.add(data['executionId']);
    if (type === 'ReservationConfirmed' || type === 'CapacityReleased') open.delete(data['executionId']);
    most = Math.max(most, open.size);
  }
  return most;
};
