import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aProject, deciderSpec, second } from '#testing';
import { isMember, projectDecider } from './project-decider.js';

const spec = deciderSpec(projectDecider);

describe('a project', () => {
  it('A-24 A-25 is created by its first configuration', () => {
    const command = aProject({ members: ['ana', 'bia'], quota: { cpu: 8, gpus: 1 }, weight: 2 });
    const { type: _type, ...data } = command;
    spec.given().when(command).then({ type: 'ProjectConfigured', data });
    const { at: _at, ...configured } = data;
    expect(spec.after(command).state).toEqual({ exists: true, ...configured });
  });

  it('the same configuration again changes nothing: members are a set, the order of a quota is no difference', () => {
    const before = spec.after(aProject({ members: ['ana', 'bia'], quota: { cpu: 8, gpus: 1 } }));
    before.when(aProject({ members: ['bia', 'ana'], quota: { gpus: 1, cpu: 8 }, at: second(9) })).then();
    before.when(aProject({ members: ['bia', 'ana', 'ana'], quota: { gpus: 1, cpu: 8 } })).then();
  });

  it.each([
    [{ institution: 'unicamp' }],
    [{ members: ['ana'] }],
    [{ members: [] }],
    [{ quota: { cpu: 4 } }],
    [{ weight: 0.5 }],
  ])('a change of %j is the whole new configuration', (change) => {
    const before = spec.after(aProject({ members: ['ana', 'bia'], quota: { memory: 10 } }));
    const command = aProject({ members: ['ana', 'bia'], quota: { memory: 10 }, ...change, at: second(9) });
    const { type: _type, ...data } = command;
    before.when(command).then({ type: 'ProjectConfigured', data });
    before.when(command).thenState((state) => state.quota.cpu === command.quota.cpu && state.weight === command.weight);
  });

  it.each([0, -1, Number.NaN, Infinity])('a weight of %d is refused, before and after it exists', (weight) => {
    spec.given().when(aProject({ weight })).thenRejected('PROJECT_WEIGHT_INVALID');
    spec.after(aProject()).when(aProject({ weight })).thenRejected('PROJECT_WEIGHT_INVALID');
  });

  it('A-23 lets its members in, and everybody when it says so', () => {
    expect(isMember({ members: ['ana'] }, 'ana')).toBe(true);
    expect(isMember({ members: ['ana'] }, 'bia')).toBe(false);
    expect(isMember({ members: [] }, 'ana')).toBe(false);
    expect(isMember({ members: ['*'] }, 'anybody')).toBe(true);
  });

  it('is as its last configuration says, whatever came before', () => {
    const configurations = fc
      .record({
        members: fc.array(fc.constantFrom('ana', 'bia', '*'), { maxLength: 3 }),
        institution: fc.constantFrom('usp', 'unicamp'),
        quota: fc.record({ cpu: fc.nat(9), jobs: fc.nat(3) }, { requiredKeys: [] }),
        weight: fc.integer({ min: 1, max: 5 }),
      })
      .map((change) => aProject(change));
    fc.assert(
      fc.property(fc.array(configurations, { minLength: 1, maxLength: 10 }), (commands) => {
        const { state, history } = spec.after(...commands);
        const last = commands.at(-1)!;
        expect(new Set(state.members)).toEqual(new Set(last.members));
        expect(state).toMatchObject({ institution: last.institution, weight: last.weight });
        expect(state.quota).toEqual(last.quota);
        expect(history.length).toBeLessThanOrEqual(commands.length);
        spec
          .given(...history)
          .when(last)
          .then();
      }),
      { numRuns: 200 },
    );
  });
});
