import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemIds } from '#kernel';
import { MemorySnapshots } from '../testing/memory-snapshots.js';
import { SnapshotFolder } from './folder.js';
import type { SnapshotStore } from './store.js';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'snapshots-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const PORTS = { clock: systemClock, ids: systemIds };
const folderAt = (): string => join(root, 'data', 'snapshots');

const read = async (store: SnapshotStore, name: string): Promise<string> => {
  let text = '';
  for await (const piece of store.read(name)) text += piece;
  return text;
};

describe.each([
  ['in memory', (): SnapshotStore => new MemorySnapshots()],
  ['in a folder', (): SnapshotStore => new SnapshotFolder(folderAt(), PORTS)],
])('snapshots %s', (_where, open) => {
  it('are none at first', async () => {
    expect(await open().names()).toEqual([]);
  });

  it('read as they were written, whatever is in them', async () => {
    const store = open();
    const pieces = ['a\n', '\u2028é😀'.repeat(400_000), '\n', 'end\n'];
    await store.write(5n, pieces);
    expect(await read(store, (await store.names())[0]!)).toBe(pieces.join(''));
  });

  it('are the two at the highest positions, the highest first', async () => {
    const store = open();
    for (const position of [900n, 1_000n, 20n, 9_223_372_036_854_775_807n])
      await store.write(position, [`${position}`]);
    const texts = [];
    for (const name of await store.names()) texts.push(await read(store, name));
    expect(texts).toEqual(['9223372036854775807', '1000']);
  });

  it('take the place of one at the same position', async () => {
    const store = open();
    await store.write(1n, ['old']);
    await store.write(1n, ['new']);
    const [name, ...others] = await store.names();
    expect([await read(store, name!), others]).toEqual(['new', []]);
  });

  it('are not there when they were not written to their end', async () => {
    const store = open();
    const pieces = function* () {
      yield 'half';
      throw new Error('the state has changed');
    };
    await expect(store.write(1n, pieces())).rejects.toThrow('the state has changed');
    expect(await store.names()).toEqual([]);
  });

  it('may be dropped, twice as well', async () => {
    const store = open();
    await store.write(1n, ['x']);
    const [name] = await store.names();
    await store.drop(name!);
    await store.drop(name!);
    expect(await store.names()).toEqual([]);
  });
});

describe('a folder of snapshots', () => {
  it('is its owner’s alone', async () => {
    await new SnapshotFolder(folderAt(), PORTS).write(1n, ['x']);
    const [file] = await readdir(folderAt());
    expect((await stat(folderAt())).mode & 0o777).toBe(0o700);
    expect((await stat(join(folderAt(), file!))).mode & 0o777).toBe(0o600);
  });

  it('leaves other files alone', async () => {
    const folder = new SnapshotFolder(folderAt(), PORTS);
    await folder.write(1n, ['x']);
    await writeFile(join(folderAt(), 'notes.txt'), 'mine');
    for (const position of [2n, 3n, 4n]) await folder.write(position, ['x']);
    expect((await readdir(folderAt())).sort()).toEqual([
      'cluster-00000000000000000003.ndjson',
      'cluster-00000000000000000004.ndjson',
      'notes.txt',
    ]);
  });

  it('has the one before when the process was killed between the last byte and the name', async () => {
    const folder = new SnapshotFolder(folderAt(), PORTS);
    await folder.write(1n, ['before']);
    const script = `
      import { SnapshotFolder } from ${JSON.stringify(join(process.cwd(), 'dist/libs/scheduling/index.js'))};
      const folder = new SnapshotFolder(process.argv[1], { clock: { now: Date.now }, ids: { next: () => 'killed' } });
      await folder.write(2n, (function* () {
        yield 'all of it';
        process.kill(process.pid, 'SIGKILL');
      })());
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, folderAt()], { stdio: 'inherit' });
    expect(await new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)))).toBe('SIGKILL');
    const partial = 'cluster-00000000000000000002.ndjson.killed.partial';
    expect(await readdir(folderAt())).toContain(partial);
    expect(await folder.names()).toEqual(['cluster-00000000000000000001.ndjson']);

    await folder.write(3n, ['while another process may still write it']);
    expect(await readdir(folderAt())).toContain(partial);
    await utimes(join(folderAt(), partial), 0, 0);
    await folder.write(4n, ['after']);
    expect(await readdir(folderAt())).not.toContain(partial);
  });
});
