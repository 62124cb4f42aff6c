import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ExecutionFault } from '../../executions/ending.js';
import { tarGzOf, tarOf, withHeader, zipOf } from '../../testing/archives.js';
import type { TarEntry } from '../../testing/archives.js';
import { OutsideFolder } from '../../testing/outside-folder.js';
import type { UnpackLimits } from './folder-writer.js';
import { unpack } from './unpack.js';

const MIB = 2 ** 20;
const LIMITS: UnpackLimits = { bytes: 64 * MIB, whose: 'the most that this node unpacks', entries: 1000 };

let base: string;
let folder: string;
let outside: OutsideFolder;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'escalon-unpack-'));
  folder = join(base, 'work', 'data');
  outside = new OutsideFolder(base, join(base, 'work'));
});

afterEach(() => rm(base, { recursive: true, force: true }));

const wrote: number[] = [];

const unpackFile = async (archive: string, limits: Partial<UnpackLimits> = {}, signal = never()): Promise<void> => {
  wrote.length = 0;
  const written = (bytes: number): void => void wrote.push(bytes);
  await unpack({ archive, folder, name: 'data', limits: { ...LIMITS, ...limits }, written }, signal);
};

const never = (): AbortSignal => new AbortController().signal;

const unpackBytes = async (bytes: Buffer, limits: Partial<UnpackLimits> = {}): Promise<void> => {
  const archive = join(base, 'archive');
  writeFileSync(archive, bytes);
  outside.remember();
  await unpackFile(archive, limits);
};

/** What an archive is refused with. Whatever it is, nothing outside was touched. */
const refusal = async (bytes: Buffer, limits: Partial<UnpackLimits> = {}): Promise<string> => {
  const error = await unpackBytes(bytes, limits).catch((caught: unknown) => caught);
  outside.expectUntouched();
  if (!(error instanceof ExecutionFault)) throw new Error('not refused', { cause: error });
  const { class: kind, code, message } = error.failure;
  expect(kind).toBe('input');
  return `${code}: ${message}`;
};

const content = (...path: string[]): string => readFileSync(join(folder, ...path), 'utf8');
const mode = (...path: string[]): number => statSync(join(folder, ...path)).mode & 0o7777;

describe('an archive', () => {
  const made = (...args: string[]): string => {
    const [from, archive] = [join(base, 'from'), join(base, 'archive')];
    mkdirSync(join(from, 'deep', 'er'), { recursive: true });
    mkdirSync(join(from, 'empty'));
    writeFileSync(join(from, 'deep', 'er', 'n.csv'), '1,2\n');
    writeFileSync(join(from, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(from, 'long'.repeat(50)), Buffer.alloc(3 * MIB, 'x'));
    symlinkSync('deep/er/n.csv', join(from, 'link.csv'));
    execFileSync('ln', ['run.sh', 'same.sh'], { cwd: from });
    execFileSync('tar', [...args, '-f', archive, '-C', from, '.']);
    return archive;
  };

  it.each([
    ['gnu', ['-c', '--format=gnu']],
    ['ustar, compressed', ['-cz', '--format=ustar', '--exclude=long*']],
    ['pax', ['-c', '--format=pax']],
    ['pax, compressed', ['-cz', '--format=pax']],
  ])('that tar made (%s) is there as it was', async (_, args) => {
    await unpackFile(made(...args));
    expect(content('deep', 'er', 'n.csv')).toBe('1,2\n');
    expect(lstatSync(join(folder, 'empty')).isDirectory()).toBe(true);
    expect(readlinkSync(join(folder, 'link.csv'))).toBe('deep/er/n.csv');
    expect([mode('run.sh'), mode('deep', 'er', 'n.csv') & 0o111]).toEqual([0o755, 0]);
    expect(statSync(join(folder, 'run.sh')).ino).toBe(statSync(join(folder, 'same.sh')).ino);
    const before = statSync(join(base, 'from', 'run.sh')).mtimeMs;
    expect(Math.abs(statSync(join(folder, 'run.sh')).mtimeMs - before)).toBeLessThan(1000);
    if (!args.includes('--exclude=long*')) expect(statSync(join(folder, 'long'.repeat(50))).size).toBe(3 * MIB);
  });

  it('of zip is told by what is in it too', async () => {
    const big = Buffer.alloc(MIB, 'y');
    await unpackBytes(
      zipOf(
        { name: 'deep/' },
        { name: 'deep/n.csv', content: '1,2\n' },
        { name: 'run.sh', content: '#!/bin/sh\n', mode: 0o100755, stored: true },
        { name: 'link.csv', content: 'deep/n.csv', mode: 0o120777 },
        { name: 'big', content: big },
        { name: 'é/ü', content: 'utf-8' },
      ),
    );
    expect([content('deep', 'n.csv'), content('link.csv'), content('é', 'ü')]).toEqual(['1,2\n', '1,2\n', 'utf-8']);
    expect([mode('run.sh'), mode('big')]).toEqual([0o755, 0o644]);
    expect(readFileSync(join(folder, 'big')).equals(big)).toBe(true);
    expect(wrote.at(-1)).toBe(4 + 10 + MIB + 5);
  });

  it('with zstd is taken where Node.js knows it, else refused by name', async () => {
    const known = 'zstdCompressSync' in zlib;
    const bytes = await tarOf({ name: 'a', content: 'a' });
    if (known) {
      await unpackBytes(zlib.zstdCompressSync(bytes));
      expect(content('a')).toBe('a');
    } else
      expect(await refusal(Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]))).toMatch(
        /^archive-format: .* it is zstd, which is not taken here/,
      );
  });

  it.each([
    ['tar', () => tarOf()],
    ['tar.gz', () => tarGzOf()],
    ['zip', () => Promise.resolve(zipOf())],
  ])('that holds nothing (%s) leaves an empty folder', async (_, bytes) => {
    await unpackBytes(await bytes());
    expect(existsSync(folder)).toBe(true);
  });

  it('gives no file its owner’s rights, nor one to write to others, and its owner always his own', async () => {
    await unpackBytes(
      await tarOf(
        { name: 'd', type: 'directory', mode: 0o1000 },
        { name: 'd/suid', mode: 0o6777 },
        { name: 'd/mine', mode: 0o400 },
      ),
    );
    expect([mode('d'), mode('d', 'suid'), mode('d', 'mine')]).toEqual([0o700, 0o755, 0o600]);
  });

  it('may name folders again and begin each name with ./', async () => {
    const again = { name: './a/', type: 'directory' as const };
    await unpackBytes(
      await tarOf({ name: './', type: 'directory' }, again, { name: './a/./b//c', content: 'c' }, again),
    );
    expect(content('a', 'b', 'c')).toBe('c');
  });

  it('may have a folder that only its name tells, as of the oldest tar files', async () => {
    await unpackBytes(await tarOf({ name: 'old/' }, { name: 'old/a', content: 'a' }, { name: 'empty/', mode: 0o700 }));
    expect([content('old', 'a'), lstatSync(join(folder, 'empty')).isDirectory()]).toEqual(['a', true]);
  });

  it('is not read on once it is stopped', async () => {
    const archive = join(base, 'archive');
    writeFileSync(archive, await tarGzOf({ name: 'a', content: Buffer.alloc(8 * MIB) }, { name: 'b' }));
    const stop = new AbortController();
    const written = (): void => stop.abort();
    const stopped = unpack({ archive, folder, name: 'data', limits: LIMITS, written }, stop.signal);
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    expect([statSync(join(folder, 'a')).size < MIB, existsSync(join(folder, 'b'))]).toEqual([true, false]);
  });
});

describe('a hostile archive', () => {
  const link = (name: string, linkname: string): TarEntry => ({ name, linkname, type: 'symlink' });
  const second = (name: string, linkname: string): TarEntry => ({ name, linkname, type: 'link' });
  const up = '../'.repeat(12);

  it.each<[string, string, readonly TarEntry[]]>([
    ['..', 'leads out with ..', [{ name: '../../etc/passwd' }]],
    ['.. on the way', 'leads out with ..', [{ name: 'a/../../b' }]],
    ['.. to where it was', 'leads out with ..', [{ name: 'a/../b' }]],
    ['an absolute path', 'has an absolute path', [{ name: '/etc/passwd' }]],
    ['a drive', 'has an absolute path', [{ name: 'C:/x' }]],
    ['backslashes', 'has a backslash in its name', [{ name: '..\\..\\x' }]],
    ['a line break', 'has control characters in its name', [{ name: 'a\nb' }]],
    ['a name that is not UTF-8', 'has a name that is not UTF-8', [{ name: 'a\uFFFD' }]],
    ['a name that no system takes', 'has a name that is too long', [{ name: 'n'.repeat(256) }]],
    ['a path that no system takes', 'has a name that is too long', [{ name: `${'n'.repeat(200)}/`.repeat(11) + 'x' }]],
    ['folders without end', 'is more than 64 folders deep', [{ name: 'd/'.repeat(65) + 'x' }]],
    ['a folder with content', 'has content and the name of a folder', [{ name: 'a/', content: 'x' }]],
    ['the folder itself as a file', 'is named as the folder itself, and is none', [{ name: '.' }]],
    ['the folder itself as a link', 'is named as the folder itself, and is none', [link('./', '/')]],
    ['a link to the root', 'is a link to the absolute path', [link('a', '/')]],
    ['a link that leads out', 'is a link that leads out, to', [link('a', `${up}etc`)]],
    ['a link that leads out from below', 'is a link that leads out, to', [link('d/a', '../../x')]],
    [
      'a link up from where another leads',
      'which leads out with ..',
      [link('d/d/up', '../..'), link('d/d/a', 'up/..')],
    ],
    ['a link to nothing', 'is a link to nothing', [link('a', '')]],
    [
      'a way through a link',
      'wants a folder where',
      [link('a', 'b'), { name: 'b/', type: 'directory' }, { name: 'a/x' }],
    ],
    ['a way through a link that leads nowhere', 'wants a folder where', [link('a', 'b'), { name: 'a/x' }]],
    ['a folder over a link', 'wants a folder where', [link('a', '.'), { name: 'a/', type: 'directory' }]],
    ['a file through a link', 'is there already', [link('a', 'b'), { name: 'a', content: 'x' }]],
    ['a link over a folder', 'is there already', [{ name: 'a/', type: 'directory' }, link('a', '.')]],
    ['a file over a folder', 'is there already', [{ name: 'a/b' }, { name: 'a' }]],
    ['a folder over a file', 'wants a folder where', [{ name: 'a' }, { name: 'a/b' }]],
    [
      'a file twice',
      'is there already',
      [
        { name: 'a', content: '1' },
        { name: './a', content: '2' },
      ],
    ],
    ['a hard link that leads out', 'which leads out with ..', [second('a', `${up}etc/passwd`)]],
    ['a hard link to an absolute path', 'which has an absolute path', [second('a', '/etc/passwd')]],
    ['a hard link to a link', 'is no file of the archive', [link('l', 'f'), { name: 'f' }, second('a', 'l')]],
    ['a hard link through a link', 'is no file of the archive', [link('l', 'd'), { name: 'd/f' }, second('a', 'l/f')]],
    ['a hard link to a folder', 'is no file of the archive', [{ name: 'd/', type: 'directory' }, second('a', 'd')]],
    ['a hard link to what comes later', 'is no file of the archive', [second('a', 'f'), { name: 'f' }]],
    ['a device', 'is a device', [{ name: 'a', type: 'character-device', devmajor: 1, devminor: 3 }]],
    ['a disk', 'is a device', [{ name: 'a', type: 'block-device', devmajor: 8 }]],
    ['a pipe', 'is a pipe', [{ name: 'a', type: 'fifo' }]],
  ])('%s', async (_, why, entries) => {
    const plain = [{ name: 'first', content: 'taken' }, ...entries];
    const told = await refusal(await tarOf(...plain));
    expect(told).toMatch(/^archive-entry: the archive for data is refused: its entry ".*" /);
    expect(told).toContain(why);
    await rm(folder, { recursive: true });
    expect(await refusal(zlib.gzipSync(await tarOf(...plain)))).toBe(told);
  });

  it('names the entry on one line, whatever it is called', async () => {
    expect(await refusal(await tarOf({ name: `../\u001b[2J\n\u202e${'x'.repeat(4000)}` }))).toMatch(
      /^archive-entry: the archive for data is refused: its entry "\.\.\/\\u001b\[2J\\n\\u202ex{1,200}…" has control characters in its name$/,
    );
  });

  it('a NUL in a name ends it for no one', async () => {
    const long = await tarOf({ name: 'p', type: 'file', content: '' });
    const record = Buffer.from('17 path=../a\0b/c\n');
    const pax = withHeader(await tarOf({ name: 'pax', content: record }), 156, 'x');
    expect(await refusal(Buffer.concat([pax.subarray(0, 1024), long]))).toContain(
      '"../a\\u0000b/c" has a NUL in its name',
    );
  });

  it.each([
    ['of an unknown kind', 156, 'Z', 'is of an unknown kind'],
    ['a sparse file of the old form', 156, 'S', 'is of an unknown kind'],
  ])('%s', async (_, at, bytes, why) => {
    expect(await refusal(withHeader(await tarOf({ name: 'a' }), at, bytes))).toContain(`its entry "a" ${why}`);
  });

  it('a sparse file of the new form', async () => {
    const pax = { 'GNU.sparse.major': '1', 'GNU.sparse.name': 'huge', 'GNU.sparse.realsize': '999999999999' };
    const entry = { name: 'GNUSparseFile.0/huge', pax, content: '0\n' };
    expect(await refusal(await tarOf(entry))).toContain('its entry "huge" is stored as a sparse file');
  });

  it.each([
    ['more bytes than may be', '77777777777\0'],
    ['more bytes than there are on earth', Buffer.from([0x80, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0])],
  ])('a file that says it has %s', async (_, size) => {
    expect(await refusal(withHeader(await tarOf({ name: 'a', content: 'x' }), 124, size))).toBe(
      'archive-too-large: the archive for data is refused: it unpacks to more than 64 MiB, the most that this node unpacks',
    );
    expect(statSync(join(folder, '.')).isDirectory() && !existsSync(join(folder, 'a'))).toBe(true);
  });

  it.each([
    ['tar.gz', () => tarGzOf({ name: 'zeros', content: Buffer.alloc(70 * MIB) })],
    ['zip', () => Promise.resolve(zipOf({ name: 'zeros', content: Buffer.alloc(70 * MIB) }))],
    [
      'zip that says it is small',
      () => Promise.resolve(zipOf({ name: 'z', content: Buffer.alloc(70 * MIB), size: 1 })),
    ],
  ])('a bomb, small on the wire (%s)', async (_, bytes) => {
    const bomb = await bytes();
    expect(bomb.length).toBeLessThan(MIB);
    expect(await refusal(bomb)).toMatch(/^archive-(too-large|corrupt): /);
    expect(Math.max(0, ...wrote)).toBeLessThanOrEqual(64 * MIB);
  });

  it('a bomb of many files, and one of folders within folders', async () => {
    const many = Array.from({ length: 11 }, (_, index) => ({ name: String(index) }));
    const deep = Array.from({ length: 3 }, (_, index) => ({ name: `${index}/${'d/'.repeat(10)}x` }));
    for (const entries of [many, deep]) {
      await rm(folder, { recursive: true, force: true });
      expect(await refusal(await tarOf(...entries), { entries: 10 })).toBe(
        'archive-too-large: the archive for data is refused: it holds more than 10 files and folders',
      );
    }
  });

  it('nothing without end: zeros behind the last entry', async () => {
    const endless = zlib.gzipSync(Buffer.concat([await tarOf({ name: 'a' }), Buffer.alloc(20 * MIB)]));
    expect(await refusal(endless)).toMatch(/^archive-corrupt: .*it goes on without an entry$/);
  });

  it.each([
    ['tar, within a file', async () => (await tarOf({ name: 'a', content: 'x'.repeat(2000) })).subarray(0, 1024)],
    ['tar, within a header', async () => (await tarOf({ name: 'a' }, { name: 'b' })).subarray(0, 700)],
    [
      'tar, between two entries',
      async () => (await tarOf({ name: 'a', content: 'x' }, { name: 'b' })).subarray(0, 1024),
    ],
    ['tar.gz', async () => (await tarGzOf({ name: 'a', content: 'x'.repeat(2000) })).subarray(0, -20)],
    ['zip', () => Promise.resolve(zipOf({ name: 'a', content: 'x'.repeat(2000) }).subarray(0, -30))],
  ])('one that is cut off (%s)', async (_, bytes) => {
    expect(await refusal(await bytes())).toMatch(/^archive-corrupt: the archive for data is /);
  });

  it('one with a broken byte', async () => {
    const broken = await tarGzOf({ name: 'a', content: 'x'.repeat(2000) }, { name: 'b' });
    broken[broken.length - 6]! ^= 0xff;
    expect(await refusal(broken)).toMatch(/^archive-corrupt: /);
    const header = await tarOf({ name: 'a' });
    header[0]! ^= 0xff;
    expect(await refusal(header)).toMatch(/^archive-corrupt: /);
  });

  it.each([
    ['..', { name: '../x' }, 'leads out with ..'],
    ['an absolute path', { name: '/x' }, 'has an absolute path'],
    ['backslashes', { name: '..\\x' }, 'has a backslash in its name'],
    ['a NUL', { name: 'a\0/../b' }, 'has a NUL in its name'],
    ['a link that leads out', { name: 'l', content: '/etc', mode: 0o120777 }, 'is a link to the absolute path "/etc"'],
    ['a link without end', { name: 'l', content: 'x'.repeat(5000), mode: 0o120777 }, 'whose target is too long'],
    ['a device', { name: 'd', mode: 0o020666 }, 'is a device, a pipe or a socket'],
    ['a socket', { name: 'd', mode: 0o140666 }, 'is a device, a pipe or a socket'],
    ['a secret', { name: 'd', content: 'x', flags: 1 }, 'is encrypted'],
    [
      'an unknown compression',
      { name: 'd', content: 'x', method: 99 },
      'is compressed in a way that is not taken (method 99)',
    ],
  ])('a zip with %s', async (_, entry, why) => {
    const told = await refusal(zipOf({ name: 'first' }, entry));
    expect(told).toMatch(/^archive-entry: /);
    expect(told).toContain(why);
  });

  it.each([
    ['less than there is', { size: 10 }],
    ['more than there is', { size: 3000 }],
    ['another checksum', { crc: 1 }],
  ])('a zip whose directory says %s', async (_, lie) => {
    expect(await refusal(zipOf({ name: 'a', content: 'x'.repeat(2000), ...lie }))).toMatch(/^archive-corrupt: /);
  });

  it.each([
    ['text', 'just text', 'it is no tar, tar.gz, tar.zst or zip file'],
    ['nothing at all', '', 'it is no tar, tar.gz, tar.zst or zip file'],
    ['a compressed text', zlib.gzipSync('just text'), 'what is compressed in it is no tar file'],
    ['bzip2', 'BZh91AY', 'it is bzip2, which is not taken here: pack it as tar.gz or zip'],
  ])('what is none: %s', async (_, bytes, why) => {
    expect(await refusal(Buffer.from(bytes))).toBe(`archive-format: the archive for data is refused: ${why}`);
  });

  it('one that should go where another input is', async () => {
    mkdirSync(join(base, 'work'), { recursive: true });
    writeFileSync(folder, 'another input');
    expect(await refusal(await tarOf({ name: 'a' }))).toBe(
      'input-path: another input is where data should be a folder',
    );
  });

  it('one that holds what another input has put there', async () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'a'), 'another input');
    expect(await refusal(await tarOf({ name: 'a', content: 'x' }))).toContain('"a" is there already');
    expect(content('a')).toBe('another input');
  });
});
