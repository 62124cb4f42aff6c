import { describe, expect, it } from '@jest/globals';
import { aJobSpec } from '#testing';
import { notEnforced, notOffered } from './not-offered.js';

describe('what this version does not offer', () => {
  it('is refused with its place', () => {
    const spec = aJobSpec({ type: 'daemon', dependsOn: [{ job: 'x', when: 'completed' }] });
    expect(notOffered(spec).map(({ pointer }) => pointer)).toEqual(['/type', '/dependsOn']);
    expect(notOffered(aJobSpec())).toEqual([]);
  });

  it('warns of limits that are not enforced', () => {
    expect(notEnforced(aJobSpec({ timeouts: { confirm: 15, queue: 60, total: 90 } }))).toHaveLength(2);
    expect(notEnforced(aJobSpec({ timeouts: { confirm: 15, run: 60 } }))).toEqual([]);
  });
});
