import { describe, expect, it } from '@jest/globals';
import { parseProjectConfig } from './index.js';

describe('the configuration of a project', () => {
  it('A-24 A-25 names the institution and the members; quota and weight have defaults', () => {
    expect(parseProjectConfig({ institution: 'usp', members: ['ana', '*'] })).toStrictEqual({
      ok: true,
      value: { institution: 'usp', members: ['ana', '*'], quota: {}, weight: 1 },
    });
    const quota = { cpu: 64, memory: '256GiB', gpus: 4, jobs: 200 };
    expect(parseProjectConfig({ institution: 'usp', members: [], quota, weight: 2.5 })).toStrictEqual({
      ok: true,
      value: { institution: 'usp', members: [], quota: { ...quota, memory: 274877906944 }, weight: 2.5 },
    });
  });

  it.each([
    [{ institution: 'usp' }, '/members REQUIRED'],
    [{ institution: 'usp', members: ['ana', 'ana'] }, '/members/1 DUPLICATE'],
    [{ institution: 'usp', members: [], weight: 0 }, '/weight OUT_OF_RANGE'],
    [{ institution: 'usp', members: [], quota: { cpu: -1 } }, '/quota/cpu OUT_OF_RANGE'],
    [{ institution: 'usp', members: [], quota: { ram: 1 } }, '/quota/ram UNKNOWN_FIELD'],
    [{ institution: ' usp', members: [] }, '/institution MALFORMED'],
  ])('%j is refused', (input, expected) => {
    const parsed = parseProjectConfig(input);
    expect(parsed.ok ? [] : parsed.errors.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([expected]);
  });
});
