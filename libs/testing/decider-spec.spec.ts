import { AssertionError } from 'node:assert/strict';
import { describe, expect, it } from '@jest/globals';
import { accept, reject } from '#kernel';
import type { Decider } from '#kernel';
import { deciderSpec } from './decider-spec.js';

type Command = 'press' | 'kick';
interface Pressed {
  readonly type: 'Pressed';
}
const pressed: Pressed = { type: 'Pressed' };

/** A button that works twice. */
const button: Decider<Command, Pressed, number> = {
  initialState: () => 0,
  decide: (command, state) => {
    if (command === 'kick') return reject('FORBIDDEN', 'no kicking');
    return state < 2 ? accept(pressed) : accept();
  },
  evolve: (state) => state + 1,
};

const spec = deciderSpec(button);

describe('deciderSpec', () => {
  it('passes what is so', () => {
    spec.given().when('press').then(pressed);
    spec.given(pressed, pressed).when('press').then();
    spec.after('press').when('press').thenTypes('Pressed');
    spec.after('press').when('kick').thenRejected('FORBIDDEN');
    spec
      .given(pressed)
      .when('press')
      .thenState((count) => count === 2);
    expect(spec.after('press', 'press', 'press').history).toEqual([pressed, pressed]);
  });

  it.each<[string, () => void]>([
    ['other events', () => spec.given().when('press').then()],
    ['other types', () => spec.given().when('press').thenTypes('Kicked')],
    ['a refusal where events were expected', () => spec.given().when('kick').then()],
    [
      'a refusal where a state was expected',
      () =>
        spec
          .given()
          .when('kick')
          .thenState(() => true),
    ],
    ['another code', () => spec.given().when('kick').thenRejected('NOT_FOUND')],
    ['events where a refusal was expected', () => spec.given().when('press').thenRejected('FORBIDDEN')],
    [
      'another state',
      () =>
        spec
          .given()
          .when('press')
          .thenState((count) => count === 7),
    ],
    ['a history that cannot be', () => spec.after('kick')],
  ])('fails on %s', (_case, claim) => {
    expect(claim).toThrow(AssertionError);
  });
});
