import { describe, expect, it } from '@jest/globals';
import {
  NO_METADATA,
  parseStreamMetadata,
  parseSystemSettings,
  softDeletionMetadata,
  withTruncateBefore,
} from './stream-metadata.js';

const parse = (text: string) => parseStreamMetadata(Buffer.from(text));

describe('stream metadata', () => {
  it('reads limits and roles', () => {
    const text =
      '{"$maxCount":5,"$maxAge":60,"$tb":3,"$acl":{"$r":"$all","$w":["a","b"],"$mr":[]},"own":{"deep":[1.5]}}';
    expect(parse(text)).toEqual({
      softDeleted: false,
      maxCount: 5,
      maxAge: 60_000,
      truncateBefore: 3,
      acl: { read: ['$all'], write: ['a', 'b'], metaRead: [] },
    });
  });

  it.each(['', 'null', '[1]', '"text"', '{"$maxCount":"5"}', '{"$maxAge":1.5}', '{"$acl":5}', '{"$acl":{"$r":[1]}}'])(
    'takes %j for none at all',
    (text) => expect(parse(text)).toEqual(NO_METADATA),
  );

  it.each(['{"$maxCount":0}', '{"$maxAge":-1}', '{"$tb":-5}', '{"$maxCount":10000000000000000000}'])(
    'sets no limit by %j',
    (text) => expect(parse(text)).toEqual(NO_METADATA),
  );

  it('knows a soft deletion by the largest signed number, and by no smaller one', () => {
    expect(parseStreamMetadata(softDeletionMetadata()).softDeleted).toBe(true);
    expect(parse('{"$tb":9223372036854775806}').softDeleted).toBe(false);
  });

  it('moves $tb and keeps the rest, numbers beyond a double too', () => {
    const moved = withTruncateBefore(Buffer.from('{"$tb":9223372036854775807,"n":9007199254740993,"s":"ü"}'), 4);
    expect(Buffer.from(moved ?? []).toString()).toBe('{"$tb":4,"n":9007199254740993,"s":"ü"}');
    expect(withTruncateBefore(Buffer.from('nonsense'), 4)).toBeUndefined();
  });

  it('reads the system settings, and none from nonsense', () => {
    const text = '{"$userStreamAcl":{"$r":"a"},"$systemStreamAcl":{"$w":["b"]}}';
    expect(parseSystemSettings(Buffer.from(text))).toEqual({
      userStreamAcl: { read: ['a'] },
      systemStreamAcl: { write: ['b'] },
    });
    expect(parseSystemSettings(Buffer.from('['))).toEqual({});
  });
});
