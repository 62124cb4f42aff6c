import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LogChunkTooLarge, LogOffsetGap, LogStore } from './index.js';
import type { SentChunk } from './index.js';

const at = (offset: number, text: string, gap = 0): SentChunk => ({ offset, gap, bytes: Buffer.from(text) });

describe('the log store', () => {
  let root: string;
  let logs: LogStore;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'escalon-logs-'));
    logs = new LogStore(root);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const whole = async (executionId: string, stream = 'stdout'): Promise<string> =>
    (await logs.read(executionId, stream, 0, 1e6)).bytes.toString();

  it('puts each stream of each execution into a log of its own', async () => {
    expect(await logs.append('job-1.1', 'stdout', at(0, 'one\n'))).toBe(4);
    expect(await logs.append('job-1.1', 'stderr', at(0, 'two\n'))).toBe(4);
    expect(await logs.append('job-1.2', 'stdout', at(0, 'three\n'))).toBe(6);
    expect(await whole('job-1.1')).toBe('one\n');
    expect(await whole('job-1.1', 'stderr')).toBe('two\n');
    expect(await logs.end('job-1.2', 'stdout')).toBe(6);
    expect(await logs.end('job-1.3', 'stdout')).toBe(0);
  });

  it('refuses a chunk that leaves a gap, with the offset expected', async () => {
    await logs.append('job-1.1', 'stdout', at(0, 'abc'));
    await expect(logs.append('job-1.1', 'stdout', at(5, 'x'))).rejects.toMatchObject({ expected: 3 });
    await expect(logs.append('job-1.1', 'stdout', at(5, 'x'))).rejects.toBeInstanceOf(LogOffsetGap);
    expect(await whole('job-1.1')).toBe('abc');
  });

  it('accepts repeated bytes once', async () => {
    await logs.append('job-1.1', 'stdout', at(0, 'abc'));
    expect(await logs.append('job-1.1', 'stdout', at(0, 'abc'))).toBe(3);
    expect(await logs.append('job-1.1', 'stdout', at(1, 'bcde'))).toBe(5);
    expect(await whole('job-1.1')).toBe('abcde');
  });

  it('reads from an offset, no more than was asked for', async () => {
    await logs.append('job-1.1', 'stdout', at(0, '0123456789'));
    expect((await logs.read('job-1.1', 'stdout', 4, 3)).bytes.toString()).toBe('456');
    expect((await logs.read('job-1.1', 'stdout', 10, 3)).bytes).toHaveLength(0);
    expect(await logs.read('job-1.1', 'stdout', 99, 3)).toMatchObject({ begin: 99, broken: false });
  });

  it('tells whoever listens to the execution, until they stop', async () => {
    let heard = 0;
    const stop = logs.listen('job-1.1', () => (heard += 1));
    await logs.append('job-1.1', 'stdout', at(0, 'a'));
    await logs.append('job-1.2', 'stdout', at(0, 'a'));
    await logs.append('job-1.1', 'stdout', at(1, 'b'));
    expect(heard).toBe(2);
    stop();
    await logs.append('job-1.1', 'stdout', at(2, 'c'));
    expect(heard).toBe(2);
  });

  it('goes on after a restart where the file ends', async () => {
    await logs.append('job-1.1', 'stdout', at(0, 'abc'));
    const later = new LogStore(root);
    expect(await later.append('job-1.1', 'stdout', at(3, 'def'))).toBe(6);
    expect(await whole('job-1.1')).toBe('abcdef');
  });

  it('keeps a strange name inside its folder', async () => {
    await logs.append('../../escape', 'stdout', at(0, 'x'));
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
          await logs.append(id, 'stdout', at(offset, text.slice(offset, offset + length))).catch((error: unknown) => {
            if (!(error instanceof LogOffsetGap)) throw error;
          });
        }
        expect(await whole(id)).toBe(text);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a log of which parts are left out', () => {
  let root: string;
  let logs: LogStore;
  const ID = 'job-1.1';

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'escalon-logs-'));
    logs = new LogStore(root, { stream: 1600, chunk: 400 });
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  /** Every byte tells its place: 4 characters for each 4 bytes. */
  const written = Array.from({ length: 25_000 }, (_, index) => (index * 4).toString(36).padStart(4, '.')).join('');
  const part = (offset: number, length: number, gap = 0): SentChunk =>
    at(offset, written.slice(offset, offset + length), gap);
  const send = (offset: number, length: number, gap = 0): Promise<number> =>
    logs.append(ID, 'stdout', part(offset, length, gap));
  const onDisk = async (): Promise<number> => {
    const folder = join(root, ID);
    const sizes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size);
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  };
  /** What there is to read, range by range, each as it was written. */
  const expectRanges = async (expected: readonly (readonly [number, number])[]): Promise<void> => {
    expect((await logs.ranges(ID, 'stdout')).map(({ begin, end }) => [begin, end])).toEqual(expected);
    let from = 0;
    for (const [index, [begin, end]] of expected.entries()) {
      const read = await logs.read(ID, 'stdout', from, 1e6);
      expect(read).toMatchObject({ begin, broken: index < expected.length - 1 });
      expect(read.bytes.toString()).toBe(written.slice(begin, end));
      from = end;
    }
  };

  it('takes a gap that was told, and bytes keep their place', async () => {
    await send(0, 100);
    expect(await send(300, 100, 200)).toBe(400);
    expect(await send(400, 50)).toBe(450);
    await expectRanges([
      [0, 100],
      [300, 450],
    ]);
    expect(await logs.end(ID, 'stdout')).toBe(450);
    expect(await logs.read(ID, 'stdout', 150, 10)).toMatchObject({ begin: 300, broken: false });
  });

  it('refuses a gap that is larger than was told, with the offset expected', async () => {
    await send(0, 100);
    await expect(send(300, 100, 199)).rejects.toMatchObject({ name: 'LogOffsetGap', expected: 100 });
    await expect(send(300, 100)).rejects.toMatchObject({ expected: 100 });
    await expectRanges([[0, 100]]);
  });

  it('accepts what was sent again over a gap once, and needs no gap for what it has', async () => {
    await send(0, 100);
    await send(300, 100, 200);
    expect(await send(300, 100, 200)).toBe(400);
    expect(await send(0, 100)).toBe(400);
    expect(await send(350, 100, 350)).toBe(450);
    await expectRanges([
      [0, 100],
      [300, 450],
    ]);
  });

  it('a gap that nothing follows yet is remembered', async () => {
    await send(0, 100);
    expect(await send(300, 0, 200)).toBe(300);
    expect(await logs.read(ID, 'stdout', 100, 10)).toMatchObject({ begin: 300, bytes: Buffer.alloc(0) });
    expect(await send(300, 20)).toBe(320);
    await expectRanges([
      [0, 100],
      [300, 320],
    ]);
  });

  it('may begin with a gap', async () => {
    expect(await send(300, 100, 300)).toBe(400);
    await expectRanges([[300, 400]]);
  });

  it('keeps the first half of its limit and the newest part, however much comes', async () => {
    for (let offset = 0; offset < 100_000; offset += 400) expect(await send(offset, 400)).toBe(offset + 400);
    const [first, newest, ...more] = await logs.ranges(ID, 'stdout');
    expect([first, more]).toEqual([{ begin: 0, end: 800 }, []]);
    expect(newest?.end).toBe(100_000);
    expect(100_000 - (newest?.begin ?? 0)).toBeGreaterThanOrEqual(400);
    await expectRanges([
      [0, 800],
      [newest?.begin ?? 0, 100_000],
    ]);
    expect(await onDisk()).toBeLessThanOrEqual(1600);
  });

  it('reads on over the files that a part lies in', async () => {
    for (let offset = 0; offset < 1400; offset += 10) await send(offset, 10);
    expect((await readdir(join(root, ID))).length).toBeGreaterThan(2);
    await expectRanges([[0, 1400]]);
    expect((await logs.read(ID, 'stdout', 795, 300)).bytes.toString()).toBe(written.slice(795, 1095));
  });

  it('holds few files, however many gaps there are', async () => {
    await send(0, 101);
    for (let offset = 102; offset < 402; offset += 2) await send(offset, 1, 1);
    expect((await readdir(join(root, ID))).length).toBeLessThanOrEqual(65);
    expect((await logs.ranges(ID, 'stdout')).at(-1)).toEqual({ begin: 400, end: 401 });
  });

  it('goes on after a restart, also where it has more than is kept now', async () => {
    for (let offset = 0; offset < 1200; offset += 400) await send(offset, 400);
    logs = new LogStore(root, { stream: 800, chunk: 200 });
    expect(await send(1200, 200)).toBe(1400);
    expect(await send(1400, 200)).toBe(1600);
    const ranges = await logs.ranges(ID, 'stdout');
    expect([ranges[0]?.begin, ranges[0]?.end, ranges.at(-1)?.end]).toEqual([0, 800, 1600]);
  });

  it('refuses a chunk that is too large', async () => {
    await expect(send(0, 401)).rejects.toBeInstanceOf(LogChunkTooLarge);
    await expect(send(0, 401)).rejects.toMatchObject({ largest: 400 });
    expect(await logs.end(ID, 'stdout')).toBe(0);
  });

  it('is within its limit and holds nothing but what was written at its place, whatever is sent', async () => {
    let run = 0;
    const sent = fc.record({ skip: fc.integer({ min: -300, max: 300 }), length: fc.nat(400), told: fc.nat(300) });
    await fc.assert(
      fc.asyncProperty(fc.array(sent, { maxLength: 40 }), async (chunks) => {
        const id = `job-9.${(run += 1)}`;
        let end = 0;
        for (const { skip, length, told } of chunks) {
          const offset = Math.max(0, end + skip);
          const gap = Math.min(told, offset);
          const next = logs.append(id, 'stdout', part(offset, length, gap));
          if (offset - gap > end) await expect(next).rejects.toMatchObject({ expected: end });
          else expect(await next).toBe((end = Math.max(end, offset + length)));
        }
        const ranges = await logs.ranges(id, 'stdout');
        expect(ranges.at(-1)?.end ?? 0).toBe(end);
        expect(ranges.reduce((sum, range) => sum + range.end - range.begin, 0)).toBeLessThanOrEqual(1600);
        for (const range of ranges) {
          const { bytes } = await logs.read(id, 'stdout', range.begin, 1e6);
          expect(bytes.toString()).toBe(written.slice(range.begin, range.end));
        }
      }),
      { numRuns: 60 },
    );
  });
});
