import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseConstraint, satisfies } from '../index.js';

const ATTRIBUTES = new Map([
  ['region', 'br'],
  ['rack', 'a 1'],
  ['quote', 'say "hi"'],
  ['cuda', '1.10'],
  ['driver', '2.0.0-rc1'],
  ['cores', '16'],
  ['zone/main', 'x'],
  ['word', 'fast'],
  ['node.architecture', 'x64'],
]);

const holds = (text: string, attributes = ATTRIBUTES): boolean => {
  const parsed = parseConstraint(text);
  if (parsed.kind !== 'constraint') throw new Error(`${parsed.message} at ${parsed.position}`);
  return satisfies(parsed.constraint, attributes);
};

describe('constraints', () => {
  it.each([
    'region = br',
    'region == br',
    'region=br',
    'region != us',
    'region in (br, eu)',
    'region in("br")',
    'region notin (us, eu)',
    'region',
    '!spot',
    '! spot',
    'rack = "a 1"',
    'quote = "say \\"hi\\""',
    'zone/main = x',
    'cores > 9',
    'cores >= 16',
    'cores < 100',
    'cores <= 16',
    'cuda > 1.9',
    'cuda >= 1.10',
    'driver < 2.0.0',
    'driver > 1.9',
    'node.architecture = amd64',
    'node.architecture in (x86_64, arm64)',
  ])('N-03 A-63 %s holds', (text) => {
    expect(holds(text)).toBe(true);
  });

  it.each([
    'region = us',
    'region = BR',
    'region != br',
    'region in (us, eu)',
    'region notin (br)',
    '!region',
    'cores > 16',
    'cuda < 1.9',
    'driver >= 2.0.0',
    'word > 1',
    'cores > fast',
  ])('N-03 A-63 %s does not hold', (text) => {
    expect(holds(text)).toBe(false);
  });

  it('N-03 A-82 a missing attribute satisfies only !key', () => {
    const texts = ['k', 'k = v', 'k != v', 'k in (v)', 'k notin (v)', 'k > 1', 'k >= 1', 'k < 1', 'k <= 1'];
    expect(texts.filter((text) => holds(text, new Map()))).toEqual([]);
    expect(holds('!k', new Map())).toBe(true);
  });

  it.each([
    ['', 0],
    ['  ', 2],
    ['= br', 0],
    ['region =', 8],
    ['region br', 7],
    ['region in br', 10],
    ['region in (br', 13],
    ['region in (br eu)', 14],
    ['region in ()', 11],
    ['region in (br) x', 15],
    ['rack = a 1', 9],
    ['rack = "a', 7],
    ['!', 1],
    ['!a b', 3],
    ['reg ion', 4],
    ['ré = 1', 1],
    ['a => 1', 3],
  ])('A-63 "%s" is refused at character %i', (text, position) => {
    expect(parseConstraint(text)).toMatchObject({ kind: 'problem', position });
  });

  it('A-63 any value survives quoting', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (value) => {
        const quoted = value.replace(/(["\\])/g, '\\$1');
        expect(holds(`k = "${quoted}"`, new Map([['k', value]]))).toBe(true);
      }),
    );
  });

  it('A-63 any text is either a constraint or a problem inside it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z!=<>(), "\\]{0,20}$/)), (text) => {
        const parsed = parseConstraint(text);
        if (parsed.kind === 'problem') expect(parsed.position).toBeLessThanOrEqual(text.length);
        else expect(typeof satisfies(parsed.constraint, ATTRIBUTES)).toBe('boolean');
      }),
    );
  });
});
