import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LogStore } from '#artifacts';
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
    logs.append(executionId, 'stdout', 0, Buffer.from(text));
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
});
