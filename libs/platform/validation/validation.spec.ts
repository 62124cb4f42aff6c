import { describe, expect, it } from '@jest/globals';
import { IsEmail, validateSync } from 'class-validator';
import fc from 'fast-check';
import {
  checkEach,
  choice,
  closest,
  flag,
  identifier,
  instantOf,
  instantRule,
  line,
  list,
  map,
  mapChecked,
  Nested,
  NestedList,
  number,
  Optional,
  plain,
  Required,
  text,
  validateInput,
  whole,
} from './index.js';
import type { Checked, Rule } from './index.js';
import { editDistance } from './suggest.js';

class Leaf {
  @Required(whole(0, 9))
  size!: number;
}

class Base {
  @Required(line())
  name!: string;
}

class Tree extends Base {
  @Optional(flag)
  evergreen?: boolean;

  @Nested(() => Leaf, { optional: true })
  crown?: Leaf;

  @NestedList(() => Leaf, { optional: true, max: 3 })
  leaves?: readonly Leaf[];

  @Optional(map(identifier, number()))
  rings?: Readonly<Record<string, number>>;
}

const mistakes = (checked: Checked<unknown>): readonly string[] =>
  checked.ok ? [] : checked.errors.map(({ pointer, code }) => `${pointer} ${code}`);

const words = (rule: Rule, value: unknown): string =>
  rule(value)
    .map(({ at, message }) => `${at}${message}`)
    .join('|');

describe('checking input against a class', () => {
  it('gives an instance whose own fields are those that were sent', () => {
    const checked = validateInput(Tree, { name: 'oak', leaves: [{ size: 1 }], rings: { a: 1 } });
    expect(checked).toEqual({ ok: true, value: { name: 'oak', leaves: [{ size: 1 }], rings: { a: 1 } } });
    const tree = checked.ok ? checked.value : undefined;
    expect(tree).toBeInstanceOf(Tree);
    expect(tree?.leaves?.[0]).toBeInstanceOf(Leaf);
    expect(plain(tree)).toStrictEqual({ name: 'oak', leaves: [{ size: 1 }], rings: { a: 1 } });
  });

  it('E-01 names all mistakes at once, in base classes, nested objects and lists', () => {
    const input = { evergreen: 'yes', crown: {}, leaves: [{ size: 1 }, { size: 10 }, 'leaf'], rings: { 'a/b~c': 'x' } };
    expect(mistakes(validateInput(Tree, input)).toSorted()).toEqual([
      '/crown/size REQUIRED',
      '/evergreen WRONG_TYPE',
      '/leaves/1/size OUT_OF_RANGE',
      '/leaves/2 WRONG_TYPE',
      '/name REQUIRED',
      '/rings/a~1b~0c MALFORMED',
      '/rings/a~1b~0c WRONG_TYPE',
    ]);
  });

  it.each([
    ['an object where a list belongs', { name: 'x', leaves: { size: 1 } }, '/leaves WRONG_TYPE'],
    ['a list where an object belongs', { name: 'x', crown: [{ size: 1 }] }, '/crown WRONG_TYPE'],
    ['null', { name: 'x', crown: null }, '/crown WRONG_TYPE'],
    ['null in a list', { name: 'x', leaves: [null] }, '/leaves/0 WRONG_TYPE'],
    ['too long a list', { name: 'x', leaves: [1, 2, 3, 4].map((size) => ({ size })) }, '/leaves TOO_LONG'],
    ['a deep unknown field', { name: 'x', leaves: [{ size: 1, colour: 'red' }] }, '/leaves/0/colour UNKNOWN_FIELD'],
    ['an object of a class', { name: 'x', crown: new Date(0) }, '/crown WRONG_TYPE'],
    ['a big integer', { name: 'x', rings: { a: 1n } }, '/rings/a WRONG_TYPE'],
    ['a name that cannot be stored', { name: 'x', rings: { 'a\u0000': 1 } }, '/rings MALFORMED'],
  ])('refuses %s in one place', (_name, input, expected) => {
    expect(mistakes(validateInput(Tree, input))).toEqual([expected]);
  });

  it('names of the language are unknown like any other', () => {
    const input: unknown = JSON.parse(
      '{ "name": "x", "__proto__": { "evergreen": true }, "toString": 1, "constructor": 2 }',
    );
    const checked = validateInput(Tree, input);
    expect(mistakes(checked).toSorted()).toEqual([
      '/__proto__ UNKNOWN_FIELD',
      '/constructor UNKNOWN_FIELD',
      '/toString UNKNOWN_FIELD',
    ]);
  });

  it('bounds the size and the depth of the whole', () => {
    const limits = { maxBytes: 40, maxDepth: 2 };
    expect(mistakes(validateInput(Tree, { name: 'x'.repeat(40) }, limits))).toEqual([' TOO_LARGE']);
    expect(mistakes(validateInput(Tree, { name: 'é'.repeat(20) }, limits))).toEqual([' TOO_LARGE']);
    expect(mistakes(validateInput(Tree, { name: 'x', leaves: [{ size: 1 }] }, limits))).toEqual(['/leaves/0 TOO_DEEP']);
    expect(mistakes(validateInput(Tree, { name: 'x', crown: { size: 1 } }, limits))).toEqual([]);
  });

  it('takes rules of class-validator as they are', () => {
    class Letter {
      @IsEmail()
      to!: string;
    }
    expect(mistakes(validateInput(Letter, { to: 'nobody' }))).toEqual(['/to INVALID']);
    expect(mistakes(validateInput(Letter, { to: 'a@example.org' }))).toEqual([]);
  });

  it('takes both kinds of rule on one class and below it', () => {
    class Address {
      @Required(text({ max: 5 }))
      city!: string;

      @IsEmail()
      mail!: string;
    }
    class Parcel {
      @Required(text())
      name!: string;

      @Nested(() => Address)
      to!: Address;
    }
    const to = { city: 'Natal', mail: 'a@example.org' };
    expect(mistakes(validateInput(Parcel, { name: 'x', to }))).toEqual([]);
    expect(mistakes(validateInput(Parcel, { name: 'x', to: { ...to, mail: 'nobody' } }))).toEqual(['/to/mail INVALID']);
    expect(mistakes(validateInput(Parcel, { name: 'x', to: { ...to, city: 'Recife' } }))).toEqual([
      '/to/city TOO_LONG',
    ]);
  });

  it('says the same to whoever validates the class without it', () => {
    const [error] = validateSync(Object.assign(new Leaf(), { size: 12 }));
    expect(Object.values(error?.constraints ?? {})).toEqual(['size must be 0 to 9, not 12']);
  });

  it('checks lists by a parser for each item', () => {
    const parse = (item: unknown): Checked<number> => mapChecked(validateInput(Leaf, item), ({ size }) => size);
    expect(checkEach([{ size: 1 }, { size: 2 }], 2, parse)).toEqual({ ok: true, value: [1, 2] });
    expect(mistakes(checkEach([{ size: 1 }, {}], 2, parse))).toEqual(['/1/size REQUIRED']);
    expect(mistakes(checkEach([1, 2, 3], 2, parse))).toEqual([' TOO_LONG']);
    expect(mistakes(checkEach('12', 2, parse))).toEqual([' WRONG_TYPE']);
  });
});

describe('rules', () => {
  it.each([
    [text(), 5, 'must be text, not 5; put it in quotes'],
    [text(), null, 'must be text, not null; leave the field out'],
    [text({ max: 3 }), 'four', 'is over 3 characters'],
    [number({ min: 1 }), 0, 'must be at least 1, not 0'],
    [number({ max: 1 }), 2, 'must be at most 1, not 2'],
    [number({ min: 0, max: 1, step: 0.001 }), 0.0005, 'must be in steps of 0.001, not 0.0005'],
    [number(), Number.NaN, 'must be a number, not NaN'],
    [whole(1, 3), 1.5, 'must be a whole number, not 1.5'],
    [whole(1, 3), '2', 'must be a number, not "2"'],
    [choice(['red', 'green']), 'gren', 'must be one of red, green, not "gren"; did you mean green?'],
    [choice(['red', 'green']), 3, 'must be text, one of red, green, not 3; put it in quotes'],
    [list(text(), { min: 1 }), [], 'must not be empty'],
    [list(text(), { unique: (item) => item }), ['a', 'b', 'a'], '/2repeats "a"'],
    [list(text()), {}, 'must be a list, not an object'],
    [map(identifier, text()), [], 'must be an object, not a list'],
    [instantRule, '2026-13-01T00:00:00Z', 'must be a time such as 2026-11-29T20:11:05Z, not "2026-13-01T00:00:00Z"'],
    [
      line(),
      `${'x'.repeat(60)}\n${'y'.repeat(60)}`,
      `must be one line without blanks at its ends, not "${'x'.repeat(59)}…`,
    ],
  ])('%# say what they wanted and what they got', (rule, value, expected) => {
    expect(words(rule, value)).toBe(expected);
  });

  it('every thousandth is on the step, whatever its binary form', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000_000 }), (milli) => {
        expect(number({ step: 0.001 })(milli / 1000)).toEqual([]);
      }),
    );
  });

  it('an instant with an offset becomes UTC', () => {
    expect(instantRule('2026-11-29T18:00:00-03:00')).toEqual([]);
    expect(instantOf('2026-11-29T18:00:00-03:00')).toBe('2026-11-29T21:00:00.000Z');
  });
});

describe('what was probably meant', () => {
  it.each([
    ['memry', 'memory'],
    ['mem', 'memory'],
    ['Memory', 'memory'],
    ['dsik', 'disk'],
    ['zebra', undefined],
    ['x', undefined],
  ])('%s: %s', (word, meant) => {
    expect(closest(word, ['cpu', 'memory', 'disk', 'ioSlots'])).toBe(meant);
  });

  it('the distance counts edits', () => {
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('ab', 'ba')).toBe(1);
    expect(editDistance('', 'abc')).toBe(3);
  });

  it('the distance is the same both ways and never over the longer word', () => {
    const word = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(word, word, (left, right) => {
        expect(editDistance(left, right)).toBe(editDistance(right, left));
        expect(editDistance(left, right)).toBeLessThanOrEqual(Math.max(left.length, right.length));
        expect(editDistance(left, right) === 0).toBe(left === right);
      }),
    );
  });
});
