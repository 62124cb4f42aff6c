import { describe, expect, it } from '@jest/globals';
import { aFailure, aJobSpec, aPlacement, aSubmission, aSuccess, aTargetChange, deciderSpec, second } from '#testing';
import type { JobCommand } from './commands.js';
import { jobDecider } from './decide.js';

const spec = deciderSpec(jobDecider);
const endIfOver: JobCommand = { type: 'EndIfOver', at: second(99) };
const ENDS = ['JobCompleted', 'JobFailed', 'JobCancelled'];

/** The history of these commands without the job's end, as a writer left it that stored only half. */
const halfOf = (...commands: readonly JobCommand[]) =>
  spec.given(...spec.after(...commands).history.filter(({ type }) => !ENDS.includes(type)));

describe('a job of which nothing is left to do and whose end was lost', () => {
  const parts = aSubmission({ spec: aJobSpec({ count: 2 }) });
  const ops = aSubmission({ spec: aJobSpec({ type: 'ops' }) });
  const [first, second_] = [aPlacement(1, 1), aPlacement(2, 1, { partition: 1 })];

  it('P-02 is completed when all of its parts are done', () => {
    const half = halfOf(aSubmission(), first, aSuccess(1, 9));
    expect(half.state.ended).toBeUndefined();
    half.when(endIfOver).then({ type: 'JobCompleted', data: { at: second(99) } });
    halfOf(parts, first, second_, aSuccess(1, 9), aSuccess(2, 9)).when(endIfOver).thenTypes('JobCompleted');
  });

  it('P-02 S-04 fails when a part of it was given up', () => {
    const half = halfOf(ops, aTargetChange(['node-1']), first, aFailure(1, 9, { class: 'application' }));
    half.when(endIfOver).thenTypes('JobFailed');
  });

  it('P-02 is cancelled when that was asked for', () => {
    const cancel: JobCommand = { type: 'CancelJob', reason: 'mistake', byUser: true, at: second(5) };
    const stopped = aFailure(1, 9, { class: 'cancelled', code: 'stopped', message: 'as asked' });
    const half = halfOf(aSubmission(), first, cancel, stopped);
    half.when(endIfOver).then({ type: 'JobCancelled', data: { reason: 'mistake', at: second(99) } });
  });

  it.each([
    ['waits', [parts, first, aSuccess(1, 9)]],
    ['runs', [parts, first, second_, aSuccess(1, 9)]],
    ['has no nodes yet', [ops]],
    ['has ended', [aSubmission(), first, aSuccess(1, 9)]],
    ['is endless', [aSubmission({ spec: aJobSpec({ type: 'service' }) }), first, aSuccess(1, 9)]],
  ] as const)('changes nothing of one that %s', (_how, commands) => {
    spec
      .after(...commands)
      .when(endIfOver)
      .then();
  });
});
