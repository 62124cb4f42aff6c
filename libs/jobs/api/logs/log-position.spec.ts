import { describe, expect, it } from '@jest/globals';
import { positionOf, positionText, streamKey } from './log-position.js';

describe('E-05 the position in the logs of a job', () => {
  const position = new Map([
    [streamKey('job-1.ab-3', 'stdout'), 120],
    [streamKey('job-1.c9', 'stdout'), 0],
    [streamKey('job-1.c9', 'stderr'), 40],
  ]);

  it('is read back as it was written', () => {
    expect(positionText(position)).toBe('ab-3:120:;c9:0:40');
    expect(positionOf('ab-3:120:;c9:0:40', 'job-1')).toEqual(position);
  });

  it('is not told when it would be too long for a header', () => {
    const many = Array.from({ length: 400 }, (_, index) => [streamKey(`job-1.e${index}`, 'stdout'), 1e9] as const);
    expect(positionText(new Map(many))).toBeUndefined();
  });

  it.each(['', '12', 'a:1', 'a:1:2:3', 'a:x:1', 'a:1:1;', 'a b:1:2', 'a:1234567890123456:'])('is not %j', (text) => {
    expect(() => positionOf(text, 'job-1')).toThrow(expect.objectContaining({ problem: expect.anything() }));
  });
});
