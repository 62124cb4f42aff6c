import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { judgeAppend } from './append-rules.js';
import type { ExpectedRevision, IdLookup, StreamHead } from './append-rules.js';
import { NO_EVENTS } from './record.js';
import type { ProposedEvent } from './record.js';

const proposed = (...ids: string[]): ProposedEvent[] =>
  ids.map((id) => ({ id, type: 'T', json: true, data: new Uint8Array(), metadata: new Uint8Array() }));

const stream = (over: Partial<StreamHead> = {}): StreamHead => ({
  head: NO_EVENTS,
  tombstoned: false,
  softDeleted: false,
  hasMetadata: false,
  ...over,
});

/** The stream holds these ids from revision 0 on; `memory` says whether they are still remembered. */
const holding = (ids: readonly string[], memory = true): IdLookup => ({
  recent: (id) => (memory && ids.includes(id) ? ids.indexOf(id) : undefined),
  stored: (revision) => ids[revision],
});

const ANY: ExpectedRevision = { kind: 'any' };
const EXISTS: ExpectedRevision = { kind: 'stream-exists' };
const NONE: ExpectedRevision = { kind: 'no-stream' };
const at = (revision: number): ExpectedRevision => ({ kind: 'exact', revision: BigInt(revision) });

const append = { kind: 'append', undelete: false };
const revive = { kind: 'append', undelete: true };
const wrong = (current: number) => ({ kind: 'wrong-revision', current });
const again = (first: number, last: number) => ({ kind: 'already-stored', first, last });
const deleted = { kind: 'deleted' };

describe('judging an append', () => {
  const abc = ['a', 'b', 'c'];
  const three = stream({ head: 2 });

  it.each([
    ['ANY of nothing', ANY, stream(), ['x'], [], append],
    ['NO_STREAM of nothing', NONE, stream(), ['x'], [], append],
    ['STREAM_EXISTS of nothing', EXISTS, stream(), ['x'], [], wrong(-1)],
    ['STREAM_EXISTS of metadata alone', EXISTS, stream({ hasMetadata: true }), ['x'], [], append],
    ['exact of nothing', at(0), stream(), ['x'], [], wrong(-1)],
    ['ANY', ANY, three, ['x'], abc, append],
    ['STREAM_EXISTS', EXISTS, three, ['x'], abc, append],
    ['exact at the head', at(2), three, ['x'], abc, append],
    ['exact at the head with a stored id', at(2), three, ['c'], abc, append],
    ['exact above the head', at(3), three, ['x'], abc, wrong(2)],
    ['exact below, other ids', at(0), three, ['x'], abc, wrong(2)],
    ['exact below, same ids', at(0), three, ['b', 'c'], abc, again(1, 2)],
    ['exact below, a part of the same', at(0), three, ['b'], abc, again(1, 1)],
    ['exact below, then beyond the head', at(1), three, ['c', 'x'], abc, wrong(2)],
    ['NO_STREAM, other ids', NONE, three, ['x'], abc, wrong(2)],
    ['NO_STREAM, same ids', NONE, three, ['a', 'b'], abc, again(0, 1)],
    ['ANY, all remembered', ANY, three, ['b', 'c'], abc, again(1, 2)],
    ['ANY, first remembered only', ANY, three, ['c', 'x'], abc, wrong(2)],
    ['ANY, later ones remembered only', ANY, three, ['x', 'c'], abc, append],
    ['STREAM_EXISTS, all remembered', EXISTS, three, ['a'], abc, again(0, 0)],
    ['no events, ANY', ANY, three, [], abc, append],
    ['no events, at the head', at(2), three, [], abc, append],
    ['no events, below the head', at(1), three, [], abc, wrong(2)],
    ['soft-deleted, ANY', ANY, stream({ head: 2, softDeleted: true }), ['x'], abc, revive],
    ['soft-deleted, NO_STREAM', NONE, stream({ head: 2, softDeleted: true }), ['x'], abc, revive],
    ['soft-deleted, NO_STREAM, same ids', NONE, stream({ head: 2, softDeleted: true }), ['a'], abc, again(0, 0)],
    ['soft-deleted, old head', at(2), stream({ head: 2, softDeleted: true }), ['x'], abc, revive],
    ['soft-deleted, below the old head', at(1), stream({ head: 2, softDeleted: true }), ['x'], abc, wrong(2)],
    ['soft-deleted, STREAM_EXISTS', EXISTS, stream({ head: 2, softDeleted: true }), ['x'], abc, deleted],
    ['tombstoned, ANY', ANY, stream({ head: 2, tombstoned: true }), ['a'], abc, deleted],
    ['tombstoned, exact', at(2), stream({ head: 2, tombstoned: true }), ['x'], abc, deleted],
  ])('%s', (_what, expected, head, ids, stored, verdict) => {
    expect(judgeAppend(expected, head, proposed(...ids), holding(stored))).toEqual(verdict);
  });

  it('forgets retries under ANY with the memory, never under an explicit revision', () => {
    const ids = holding(abc, false);
    expect(judgeAppend(ANY, three, proposed('a'), ids)).toEqual(append);
    expect(judgeAppend(at(0), three, proposed('b'), ids)).toEqual(again(1, 1));
    expect(judgeAppend(NONE, three, proposed('a', 'b', 'c'), ids)).toEqual(again(0, 2));
  });

  it('recognises any slice of the stream as a retry at its own place, and nowhere else', () => {
    const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(ids, fc.nat(), fc.nat(), (stored, from, length) => {
        const first = from % stored.length;
        const slice = stored.slice(first, first + 1 + (length % stored.length));
        const head = stream({ head: stored.length - 1 });
        const lookup = holding(stored, false);
        expect(judgeAppend(at(first - 1), head, proposed(...slice), lookup)).toEqual(
          again(first, first + slice.length - 1),
        );
        if (first > 0) expect(judgeAppend(at(first - 2), head, proposed(...slice), lookup)).toEqual(wrong(head.head));
      }),
    );
  });
});
