import { describe, expect, it } from '@jest/globals';
import { aJobSpec } from '#testing';
import { notOffered } from './not-offered.js';

describe('what this version does not offer', () => {
  it('is refused with its place', () => {
    const spec = aJobSpec({ dependsOn: [{ job: 'x', when: 'completed' }] });
    expect(notOffered(spec).map(({ pointer }) => pointer)).toEqual(['/dependsOn']);
    expect(notOffered(aJobSpec())).toEqual([]);
  });
});
