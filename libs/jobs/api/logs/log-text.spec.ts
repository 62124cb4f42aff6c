import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LogStore } from '#artifacts';
import { chunksOf } from './log-chunks.js';
import type { LogChunk } from './log-chunks.js';
import { bytesOf, tailOf, tailParts } from './log-text.js';

describe('the text of logs', () => {
  let folder: string;
  let logs: LogStore;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'escalon-logs-'));
    logs = new LogStore(folder);
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const write = (executionId: string, text: string): Promise<number> =>
    logs.append(executionId, 'stdout', { offset: 0, bytes: Buffer.from(text) });
  const textOf = async (parts: Awaited<ReturnType<typeof tailParts>>): Promise<string> => {
    const read: Buffer[] = [];
    for await (const bytes of bytesOf(logs, parts)) read.push(bytes);
    return Buffer.concat(read).toString();
  };
  const of = (...ids: string[]) => ids.map((executionId) => ({ executionId, stream: 'stdout' }));

  it.each([
    ['one\ntwo\nthree\n', 2, 'two\nthree\n'],
    ['one\ntwo\nthree', 2, 'two\nthree'],
    ['one\n\n\n', 2, '\n\n'],
    ['one', 5, 'one'],
    ['one\ntwo\n', 0, ''],
    ['', 3, ''],
  ])('E-05 of %j the last %d lines are %j', async (text, count, expected) => {
    await write('j.1', text);
    expect(await textOf(await tailParts(logs, of('j.1'), count))).toBe(expected);
  });

  it('E-05 finds the last lines of a log that is larger than what is read at once', async () => {
    const lines = Array.from({ length: 30_000 }, (_, index) => `line ${String(index)}`);
    await write('j.1', lines.join('\n'));
    expect(await textOf(await tailParts(logs, of('j.1'), 20_000))).toBe(lines.slice(-20_000).join('\n'));
    expect(await tailOf(logs, 'j.1', 'stdout', 40_000)).toEqual({ offset: 0, lines: 30_000 });
  });

  it('E-05 the last lines of a job may lie in several tries', async () => {
    await write('j.1', 'a\nb\n');
    await write('j.2', 'c\n');
    await write('j.4', 'd\n');
    expect(await textOf(await tailParts(logs, of('j.1', 'j.2', 'j.3', 'j.4'), 3))).toBe('b\nc\nd\n');
    expect(await textOf(await tailParts(logs, of('j.1', 'j.2', 'j.3', 'j.4'), 9))).toBe('a\nb\nc\nd\n');
  });

  it('E-05 agrees with splitting the whole text', async () => {
    let number = 0;
    const text = fc.string({ unit: fc.constantFrom('a', 'ö', '\n'), maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, fc.nat(12), async (written, count) => {
        const id = `p.${String((number += 1))}`;
        if (written !== '') await write(id, written);
        const lines = written === '' ? [] : written.split(/(?<=\n)/);
        const last = count === 0 ? [] : lines.slice(-count);
        expect(await textOf(await tailParts(logs, of(id), count))).toBe(last.join(''));
        expect((await tailOf(logs, id, 'stdout', count)).lines).toBe(last.length);
      }),
      { numRuns: 60 },
    );
  });

  const add = (executionId: string, offset: number, text: string, gap = 0): Promise<number> =>
    logs.append(executionId, 'stdout', { offset, gap, bytes: Buffer.from(text) });
  const all = (id: string) => of(id).map((part) => ({ ...part, offset: 0 }));

  it.each([
    [9, 'one\ntw\n… 2 KiB left out here …\nno\nfour\nfive\n'],
    [5, 'one\ntw\n… 2 KiB left out here …\nno\nfour\nfive\n'],
    [4, 'tw\n… 2 KiB left out here …\nno\nfour\nfive\n'],
    [3, 'no\nfour\nfive\n'],
    [1, 'five\n'],
    [0, ''],
  ])('E-05 the last %d lines over a gap', async (count, expected) => {
    await add('g.1', 0, 'one\ntw');
    await add('g.1', 6 + 2048, 'no\nfour\nfive\n', 2048);
    expect(await textOf(await tailParts(logs, of('g.1'), count))).toBe(expected);
  });

  it('E-05 tells what is left out at the begin, and no empty line after a whole one', async () => {
    await add('g.2', 10, 'one\n', 10);
    await add('g.2', 15, 'two\n', 1);
    expect(await textOf(all('g.2'))).toBe('… 10 B left out here …\none\n… 1 B left out here …\ntwo\n');
  });

  it('E-05 its pieces are cut between characters, but not held back where the rest of one is left out', async () => {
    const half = Buffer.from('é').subarray(0, 1);
    await logs.append('g.3', 'stdout', { offset: 0, bytes: Buffer.concat([Buffer.from('a'), half]) });
    const piece = { executionId: 'g.3', stream: 'stdout' };
    const pieces = async (): Promise<LogChunk[]> => {
      const read: LogChunk[] = [];
      for await (const chunk of chunksOf(logs, { ...piece, offset: 0 })) read.push(chunk);
      return read;
    };
    expect(await pieces()).toEqual([{ ...piece, offset: 0, next: 1, text: 'a' }]);
    await add('g.3', 5, 'bé', 3);
    expect(await pieces()).toEqual([
      { ...piece, offset: 0, next: 2, text: 'a\ufffd' },
      { ...piece, offset: 2, next: 5, text: '', leftOut: 3 },
      { ...piece, offset: 5, next: 8, text: 'bé' },
    ]);
  });
});
