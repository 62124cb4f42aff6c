import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { someAssignment } from '../testing/assignments.js';
import { newEntry, ranFor } from './entry.js';
import { Journal } from './journal.js';

describe('the journal', () => {
  let data: string;
  const unreadable: string[] = [];
  const entriesOf = async () => (await Journal.open(data)).entries((file) => unreadable.push(file));

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'escalon-journal-'));
    unreadable.length = 0;
  });

  afterEach(() => rm(data, { recursive: true }));

  it('gives a later agent what an earlier one saved', async () => {
    const entry = newEntry(someAssignment('job1.e1', ['true']));
    await (await Journal.open(data)).save(entry);
    expect(await entriesOf()).toEqual([entry]);
  });

  it('G-57 marks what only an agent that knows of batches may take up', async () => {
    const items = { from: 0, to: 20, of: 20 };
    const task = { batch: { min: 1, memoryPerItem: 1, gpuMemoryPerItem: 0, items } };
    const some = someAssignment('job1.e1', ['true'], task);
    const entry = newEntry({ ...some, contract: { ...some.contract, batchSize: 8 } });
    await (await Journal.open(data)).save(entry);
    expect(await entriesOf()).toEqual([entry]);
    expect([entry.version, newEntry(some).version]).toEqual([2, 1]);
  });

  it('keeps the order of saves and removals of one execution', async () => {
    const journal = await Journal.open(data);
    const entry = newEntry(someAssignment('job1.e1', ['true']));
    await Promise.all([journal.save(entry), journal.save({ ...entry, phase: 'starting' })]);
    expect((await entriesOf())[0]?.phase).toBe('starting');
    await Promise.all([journal.save(entry), journal.remove('job1.e1')]);
    expect(await entriesOf()).toEqual([]);
  });

  it('ignores a write that a crash cut short', async () => {
    const entry = newEntry(someAssignment('job1.e1', ['true']));
    await (await Journal.open(data)).save(entry);
    await writeFile(join(data, 'journal', 'job1.e1.json.tmp'), '{"version":1,"assi');
    expect(await entriesOf()).toEqual([entry]);
    expect(await readdir(join(data, 'journal'))).toEqual(['job1.e1.json']);
  });

  it('sets aside what it cannot read', async () => {
    await Journal.open(data);
    await writeFile(join(data, 'journal', 'bad.json'), '{"version":9}');
    expect(await entriesOf()).toEqual([]);
    expect(unreadable).toEqual(['bad.json']);
    expect(await readdir(join(data, 'journal'))).toEqual(['bad.json.unreadable']);
  });
});

describe('how long a task ran', () => {
  const entry = newEntry(someAssignment('job1.e1', ['true']));

  it.each([
    [{}, 0],
    [{ startedAt: 1_000 }, 0],
    [{ startedAt: 1_000, endedAt: 5_000 }, 4_000],
    [{ startedAt: 1_000, endedAt: 5_000, pausedFor: 1_500 }, 2_500],
    [{ startedAt: 1_000, endedAt: 9_000, pausedFor: 1_500, pausedSince: 5_000 }, 2_500],
    [{ startedAt: 5_000, endedAt: 1_000 }, 0],
  ])('%j: %d ms', (times, expected) => expect(ranFor({ ...entry, ...times })).toBe(expected));
});
