import { describe, expect, it } from '@jest/globals';
import { RecentIds } from './recent-ids.js';

describe('recent ids', () => {
  it('drops the oldest beyond the limit', () => {
    const ids = new RecentIds(2);
    for (const [revision, id] of ['a', 'b', 'c'].entries()) ids.remember(1, revision, id);
    expect(['a', 'b', 'c'].map((id) => ids.revisionIn(1, id))).toEqual([undefined, 1, 2]);
  });

  it('knows an id by its last place only', () => {
    const ids = new RecentIds(10);
    ids.remember(1, 0, 'a');
    ids.remember(2, 5, 'a');
    expect([ids.revisionIn(1, 'a'), ids.revisionIn(2, 'a')]).toEqual([undefined, 5]);
    ids.clear();
    expect(ids.revisionIn(2, 'a')).toBeUndefined();
  });
});
