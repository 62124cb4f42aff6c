import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LogOffsetGap, LogStore } from './index.js';

const bytes = (text: string): Buffer => Buffer.from(text);

describe('the log store', () => {
  let root: string;
  let logs: LogStore;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'escalon-logs-'));
    logs = new LogStore(root);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const whole = async (executionId: string, stream = 'stdout'): Promise<string> =>
    (await logs.read(executionId, stream, 0, 1e6)).toString();

  it('puts each stream of each execution into a log of its own', async () => {
    expect(await logs.append('job-1.1', 'stdout', 0, bytes('one\n'))).toBe(4);
    expect(await logs.append('job-1.1', 'stderr', 0, bytes('two\n'))).toBe(4);
    expect(await logs.append('job-1.2', 'stdout', 0, bytes('three\n'))).toBe(6);
    expect(await whole('job-1.1')).toBe('one\n');
    expect(await whole('job-1.1', 'stderr')).toBe('two\n');
    expect(await logs.size('job-1.2', 'stdout')).toBe(6);
    expect(await logs.size('job-1.3', 'stdout')).toBe(0);
  });

  it('refuses a chunk that leaves a gap, with the offset expected', async () => {
    await logs.append('job-1.1', 'stdout', 0, bytes('abc'));
    await expect(logs.append('job-1.1', 'stdout', 5, bytes('x'))).rejects.toMatchObject({ expected: 3 });
    await expect(logs.append('job-1.1', 'stdout', 5, bytes('x'))).rejects.toBeInstanceOf(LogOffsetGap);
    expect(await whole('job-1.1')).toBe('abc');
  });

  it('accepts repeated bytes once', async () => {
    await logs.append('job-1.1', 'stdout', 0, bytes('abc'));
    expect(await logs.append('job-1.1', 'stdout', 0, bytes('abc'))).toBe(3);
    expect(await logs.append('job-1.1', 'stdout', 1, bytes('bcde'))).toBe(5);
    expect(await whole('job-1.1')).toBe('abcde');
  });

  it('reads from an offset, no more than was asked for', async () => {
    await logs.append('job-1.1', 'stdout', 0, bytes('0123456789'));
    expect((await logs.read('job-1.1', 'stdout', 4, 3)).toString()).toBe('456');
    expect(await logs.read('job-1.1', 'stdout', 10, 3)).toHaveLength(0);
    expect(await logs.read('job-1.1', 'stdout', 99, 3)).toHaveLength(0);
  });

  it('tells whoever listens to the execution, until they stop', async () => {
    let heard = 0;
    const stop = logs.listen('job-1.1', () => (heard += 1));
    await logs.append('job-1.1', 'stdout', 0, bytes('a'));
    await logs.append('job-1.2', 'stdout', 0, bytes('a'));
    await logs.append('job-1.1', 'stdout', 1, bytes('b'));
    expect(heard).toBe(2);
    stop();
    await logs.append('job-1.1', 'stdout', 2, bytes('c'));
    expect(heard).toBe(2);
  });

  it('goes on after a restart where the file ends', async () => {
    await logs.append('job-1.1', 'stdout', 0, bytes('abc'));
    const later = new LogStore(root);
    expect(await later.append('job-1.1', 'stdout', 3, bytes('def'))).toBe(6);
    expect(await whole('job-1.1')).toBe('abcdef');
  });

  it('keeps a strange name inside its folder', async () => {
    await logs.append('../../escape', 'stdout', 0, bytes('x'));
    expect(await whole('../../escape')).toBe('x');
    expect(await rm(join(root, '..', '..', 'escape'), { recursive: true }).catch(() => 'absent')).toBe('absent');
  });

  it('ends up with the text, whichever chunks are repeated or overlap', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(60), fc.nat(20)), { maxLength: 20 }), async (chunks) => {
        const text = 'The quick brown fox jumps over the lazy dog, twice or more.';
        run += 1;
        const id = `job-9.${run}`;
        for (const [offset, length] of [...chunks, [0, text.length] as const]) {
          await logs
            .append(id, 'stdout', offset, bytes(text.slice(offset, offset + length)))
            .catch((error: unknown) => {
              if (!(error instanceof LogOffsetGap)) throw error;
            });
        }
        expect(await whole(id)).toBe(text);
      }),
      { numRuns: 50 },
    );
  });
});
