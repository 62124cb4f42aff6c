import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compareVersions, inRange, parseVersion, parseVersionRange } from '../index.js';

const order = (left: string, right: string): number | undefined => {
  const result = compareVersions(parseVersion(left)!, parseVersion(right)!);
  return result === undefined ? undefined : Math.sign(result);
};

const matches = (range: string, version: string): boolean => {
  const parsed = parseVersionRange(range);
  if (parsed.kind !== 'range') throw new Error(parsed.message);
  const known = parseVersion(version);
  return known !== undefined && inRange(parsed.range, known);
};

describe('versions', () => {
  it.each([
    ['1.10', '1.9'],
    ['2024b', '2024a'],
    ['2024a', '2024'],
    ['R2024a', 'R2023b'],
    ['1.0.0', '1.0.0-rc.1'],
    ['1.0.0-rc.2', '1.0.0-rc.1'],
    ['1.0.0-rc.10', '1.0.0-rc.9'],
    ['1.0.0-rc.1', '1.0.0-beta.3'],
    ['1.2.0', '1.2.0rc1'],
    ['1.2.0rc1', '1.2.0b2'],
    ['1.2.0', '1.2.0.dev4'],
    ['1.2.0.post1', '1.2.0'],
    ['8.9p1', '8.9'],
    ['1.0.2k', '1.0.2'],
    ['v20.1.0', '20.0.9'],
  ])('A-02 %s comes after %s', (later, earlier) => {
    expect(order(later, earlier)).toBe(1);
    expect(order(earlier, later)).toBe(-1);
  });

  it.each([
    ['1.2', '1.2.0'],
    ['v1.2.3', '1.2.3'],
    ['1.2.3+build.5', '1.2.3'],
  ])('A-02 %s is the same as %s', (left, right) => {
    expect(order(left, right)).toBe(0);
  });

  it('A-02 versions of different families are not comparable, and a word is no version', () => {
    expect(order('R2024a', '2024a')).toBeUndefined();
    expect(parseVersion('stable')).toBeUndefined();
    expect(parseVersion('')).toBeUndefined();
  });

  it('A-02 the order of versions is total within a family', () => {
    const part = fc.integer({ min: 0, max: 12 });
    const suffix = fc.constantFrom('', '-rc.1', '-rc.2', 'a', 'b', 'rc1', '.post1', '+x', '-0');
    const version = fc.tuple(fc.array(part, { minLength: 1, maxLength: 4 }), suffix).map(([n, s]) => n.join('.') + s);
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(order(a, b)).toBe(-order(b, a)! + 0);
        if (order(a, b)! <= 0 && order(b, c)! <= 0) expect(order(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });
});

describe('version ranges', () => {
  it.each([
    ['>=20', ['20', '20.0.0', '24.1.0', '21.0.0-rc.1'], ['19.9.9', '20.0.0-rc.1']],
    ['>20', ['21.0.0'], ['20.5.0', '20']],
    ['>20.1.0', ['20.1.1'], ['20.1.0']],
    ['<2', ['1.99.0'], ['2.0.0', '2.0.0-rc1']],
    ['<=1.2', ['1.2.9', '1.1'], ['1.3.0']],
    ['<=1.2.3', ['1.2.3'], ['1.2.4']],
    ['^1.2', ['1.2.0', '1.99.9'], ['1.1.9', '2.0.0', '2.0.0-rc1']],
    ['^0.2.3', ['0.2.9'], ['0.3.0', '0.2.2']],
    ['^0.0.3', ['0.0.3'], ['0.0.4']],
    ['~1.2', ['1.2.7'], ['1.3.0']],
    ['~1', ['1.9.0'], ['2.0.0']],
    ['~=1.4.2', ['1.4.9'], ['1.5.0', '1.4.1']],
    ['~=1.4', ['1.9'], ['2.0']],
    ['1.x', ['1.0.0', '1.9'], ['2.0.0', '0.9']],
    ['1.26.x', ['1.26.4'], ['1.27.0']],
    ['==1.26.*', ['1.26.4'], ['1.27.0']],
    ['20', ['20.11.1'], ['21.0.0']],
    ['1.2.3', ['1.2.3'], ['1.2.4']],
    ['=1.2.3', ['1.2.3'], ['1.2.4']],
    ['==1.2', ['1.2.0'], ['1.2.1']],
    ['!=1.5', ['1.4', '1.5.1'], ['1.5.0']],
    ['>=1 <2', ['1.5.0'], ['0.9', '2.0.0']],
    ['>= 1, < 2', ['1.5.0'], ['2.0.0']],
    ['1.2 - 2.3', ['1.2.0', '2.3.9'], ['2.4.0', '1.1.9']],
    ['^1.2 || >=3', ['1.5.0', '3.0.0'], ['2.0.0']],
    ['2024a', ['2024a'], ['2024b', '2024']],
    ['>=2024a', ['2024b', '2025a'], ['2023b', '2024']],
    ['>=R2023b', ['R2024a'], ['2024a', 'R2023a']],
    ['*', ['0.0.1', '99'], []],
    ['>=1.9', ['1.10'], ['1.8']],
  ])('A-02 %s', (range, inside, outside) => {
    expect(inside.filter((version) => !matches(range, version))).toEqual([]);
    expect(outside.filter((version) => matches(range, version))).toEqual([]);
  });

  it.each([
    ['>=', 2],
    ['>= 1 || <', 9],
    ['latest', 0],
    ['1.0 - next', 6],
    ['>=1 =>2', 5],
  ])('A-02 "%s" is refused at character %i', (range, position) => {
    expect(parseVersionRange(range)).toMatchObject({ kind: 'problem', position });
  });

  it('A-02 any text is either a range or a problem inside it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.x*<>=~^| ,-]{0,24}$/)), (text) => {
        const parsed = parseVersionRange(text);
        if (parsed.kind === 'problem') expect(parsed.position).toBeLessThanOrEqual(text.length);
        else expect(typeof inRange(parsed.range, parseVersion('1.2.3')!)).toBe('boolean');
      }),
    );
  });
});
