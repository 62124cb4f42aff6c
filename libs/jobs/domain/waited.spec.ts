import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aContract, aDecision, aJobSpec, second } from '#testing';
import type { FilteredReason } from './decision.js';
import type { JobEvent } from './events.js';
import { causeOf, waitedByCause } from './waited.js';

const because = (reason: string, change: Partial<FilteredReason> = {}): FilteredReason => ({
  reason,
  side: 'job',
  never: false,
  nodes: 1,
  also: 0,
  ...change,
});

const submitted: JobEvent = {
  type: 'JobSubmitted',
  data: {
    jobId: 'j',
    spec: aJobSpec(),
    account: 'ana',
    institution: 'usp',
    evaluationId: 'e',
    fingerprint: 'f',
    at: second(0),
  },
};
const deferred = (at: number, ...filtered: FilteredReason[]): JobEvent => ({
  type: 'PlacementDecided',
  data: aDecision({ outcome: 'deferred', time: second(at), filtered }),
});
const reserved = (at: number, executionId = 'j.1'): JobEvent => ({
  type: 'ExecutionReserved',
  data: {
    executionId,
    partition: 0,
    attempt: 1,
    nodeId: 'n',
    fencingToken: 1,
    contract: aContract(),
    confirmBy: second(at + 15),
    at: second(at),
  },
});

const spans = (events: readonly JobEvent[], until: number): Record<string, number> =>
  Object.fromEntries(waitedByCause(events, 0, second(until)).causes.map(({ cause, millis }) => [cause, millis / 1000]));

describe('the time a job waited, by cause', () => {
  it('G-55 A-88 tells how long it waited for other jobs', () => {
    const data = { ...submitted.data, spec: aJobSpec({ dependsOn: [{ job: 'a', when: 'completed' }] }) } as const;
    const met = { type: 'DependenciesMet', data: { dependencies: [], at: second(30) } } as const;
    const events: JobEvent[] = [{ type: 'JobSubmitted', data }, met, reserved(32)];
    expect(spans(events, 60)).toEqual({ dependencies: 30, look: 2 });
    expect(spans(events.slice(0, 1), 60)).toEqual({ dependencies: 60 });
  });

  it('A-88 A-98 tells how long each reason held', () => {
    const events = [
      submitted,
      deferred(2, because('capacity.cpu')),
      deferred(12, because('node.offline')),
      reserved(15),
    ];
    expect(spans(events, 60)).toEqual({ look: 2, 'capacity.cpu': 10, 'node.offline': 3 });
    expect(spans(events.slice(0, 2), 60)).toEqual({ look: 2, 'capacity.cpu': 58 });
  });

  it('A-90 counts the wait between attempts: backoff, then what held', () => {
    const events: JobEvent[] = [
      submitted,
      reserved(1),
      { type: 'ReservationExpired', data: { executionId: 'j.1', confirmBy: second(16), at: second(16) } },
      {
        type: 'JobRequeued',
        data: { partition: 0, notBefore: second(26), message: 'again', at: second(17) } as never,
      },
      deferred(30, because('capacity.memory')),
    ];
    expect(spans(events, 40)).toEqual({ look: 6, backoff: 9, 'capacity.memory': 10 });
  });

  it('a pause is its own cause, and nothing is waited after the end', () => {
    const events: JobEvent[] = [
      submitted,
      { type: 'JobPaused', data: { reason: 'x', at: second(5) } },
      { type: 'JobResumed', data: { at: second(9) } },
      { type: 'JobCancelled', data: { reason: 'x', at: second(10) } },
    ];
    expect(spans(events, 90)).toEqual({ look: 6, paused: 4 });
  });

  it('adds up to the time without an execution, whatever happened', () => {
    const reasons = fc.constantFrom('capacity.cpu', 'node.offline', 'quota.jobs');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(50), reasons), { maxLength: 20 }), fc.nat(100), (decided, end) => {
        let at = 0;
        const decisions = decided.map(([later, reason]) => deferred((at += later), because(reason)));
        const events = [submitted, ...decisions, reserved(at + end)];
        expect(waitedByCause(events, 0, second(at + end + 7)).millis).toBe((at + end) * 1000);
      }),
    );
  });

  it('A-20 of several reasons the one of the nodes that came furthest stands for the wait', () => {
    const filtered = [because('permission.account', { nodes: 5, never: true }), because('capacity.cpu', { nodes: 1 })];
    expect(causeOf({ filtered })).toBe('capacity.cpu');
    expect(causeOf({ filtered: filtered.slice(0, 1) })).toBe('permission.account');
    expect(causeOf({ filtered: [] })).toBe('no-nodes');
  });
});
