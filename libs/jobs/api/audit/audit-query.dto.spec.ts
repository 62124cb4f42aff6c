import { describe, expect, it } from '@jest/globals';
import type { ProblemException } from '#platform/http';
import { readRange, readWhatIf } from './audit-query.dto.js';

const mistakes = (attempt: () => unknown): string[] => {
  try {
    attempt();
    return [];
  } catch (error) {
    return (error as ProblemException).problem.errors.map(({ pointer, message }) => `${pointer} ${message}`);
  }
};

describe('what an audit asks for', () => {
  it('A-66 takes all five weights', () => {
    const weights = 'resources=40,reliability=20, availability=20,queue=12.5,cost=0';
    expect(readWhatIf({ weights, profile: 'gpu', from: '7' })).toEqual({
      range: { jobId: undefined, after: 7n, upTo: undefined },
      weights: { resources: 40, reliability: 20, availability: 20, queue: 12.5, cost: 0 },
      profile: 'gpu',
    });
  });

  it('names every mistake at once', () => {
    expect(
      mistakes(() => readWhatIf({ weights: 'resource=40,queue=x,queue=1,cost=101', to: 'end', fast: '1' })),
    ).toEqual(
      expect.arrayContaining([
        '/weights names "resource", which is no factor; did you mean resources?',
        '/weights gives queue "x", which is not 0 to 100',
        '/weights names queue twice',
        '/weights gives cost "101", which is not 0 to 100',
        '/weights must name all five; resources, reliability, availability missing',
        '/fast is not a known field',
      ]),
    );
    expect(mistakes(() => readWhatIf({}))).toEqual(['/weights is missing']);
  });

  it('refuses weights that are all 0, and a range that ends before it begins', () => {
    const none = 'resources=0,reliability=0,availability=0,queue=0,cost=0';
    expect(mistakes(() => readWhatIf({ weights: none }))).toEqual(['/weights must not all be 0']);
    expect(mistakes(() => readRange({ from: '9', to: '3' }))).toEqual(['/to must not be before from, which is 9']);
  });

  it('refuses positions before the first and conditions left empty', () => {
    for (const from of ['-1', '-3']) {
      expect(mistakes(() => readRange({ from }))).toEqual([`/from must be a position of the log, not "${from}"`]);
    }
    expect(mistakes(() => readRange({ job: '', from: '', to: '' })).map((one) => one.split(' ')[0])).toEqual([
      '/job',
      '/from',
      '/to',
    ]);
    expect(readRange({ job: null, from: undefined })).toEqual({ jobId: undefined, after: undefined, upTo: undefined });
  });
});
