import { execFileSync } from 'node:child_process';
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { insidePath, isPlainId } from '../runner/inside.js';
import { collectOutputs, describe as describeFile } from './collect.js';
import { globMatcher, isLiteral } from './glob.js';

describe('globs', () => {
  it.each([
    ['*.csv', 'a.csv', true],
    ['*.csv', 'sub/a.csv', false],
    ['**/*.csv', 'a.csv', true],
    ['**/*.csv', 'x/y/a.csv', true],
    ['plots/**', 'plots/a/b.png', true],
    ['plots/**', 'plot/a.png', false],
    ['plots/**', 'plots', false],
    ['a?.txt', 'a1.txt', true],
    ['a?.txt', 'a/.txt', false],
    ['[ab].txt', 'b.txt', true],
    ['[!ab].txt', 'b.txt', false],
    ['[!ab].txt', 'c.txt', true],
    ['*.{csv,json}', 'a.json', true],
    ['*.{csv,json}', 'a.txt', false],
    ['a.b', 'axb', false],
    ['a+(b)', 'a+(b)', true],
    ['[', '[', true],
    ['}', '}', true],
    ['*', '.hidden', true],
  ])('%s on %s: %s', (pattern, path, expected) => expect(globMatcher(pattern)(path)).toBe(expected));

  it.each([
    ['[a-c].txt', 'b.txt', true],
    ['[z-a].txt', 'b.txt', false],
    ['[]x].txt', '].txt', true],
    ['{a,b{c,d}}.txt', 'bd.txt', true],
    ['{a,b', '{a,b', true],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**/b', 'ab', false],
    ['**/b', 'ab', false],
    ['**', 'a/b', true],
    ['a\nb', 'a\nb', true],
    ['*', '', true],
  ])('%s on %s: %s', (pattern, path, expected) => expect(globMatcher(pattern)(path)).toBe(expected));

  it('takes its time in proportion, whatever the pattern', () => {
    const path = 'a'.repeat(250);
    expect(globMatcher(`${'*a'.repeat(60)}b`)(path)).toBe(false);
    expect(globMatcher(`${'**/'.repeat(60)}b`)('a/'.repeat(120))).toBe(false);
    expect(globMatcher('{a,b}'.repeat(60))('ab'.repeat(30))).toBe(false);
  });

  it('answers for any pattern and path, a literal one for itself', () =>
    fc.assert(
      fc.property(fc.string(), fc.string(), (pattern, path) => {
        expect(typeof globMatcher(pattern)(path)).toBe('boolean');
        if (isLiteral(pattern)) expect(globMatcher(pattern)(path)).toBe(pattern === path);
        expect(globMatcher('**')(path)).toBe(true);
      }),
    ));

  it('tells a path from a pattern', () => {
    expect(isLiteral('a/b-c.txt')).toBe(true);
    expect(isLiteral('a/*.txt')).toBe(false);
  });
});

describe('paths inside the task’s folder', () => {
  it.each([
    ['a.csv', 'a.csv'],
    ['./a//b/', 'a/b'],
    ['a/../b', 'b'],
    ['..a', '..a'],
    ['..', undefined],
    ['.', undefined],
    ['a/../..', undefined],
    ['../x', undefined],
    ['/etc/passwd', undefined],
    ['a\0b', undefined],
    ['a\\..\\b', undefined],
    ['', undefined],
  ])('%j is %j', (path, expected) => expect(insidePath(path)).toBe(expected));

  it.each([
    ['job1.e1', true],
    ['..', false],
    ['.hidden', false],
    ['a/b', false],
    ['', false],
  ])('id %j may be a folder name: %s', (id, expected) => expect(isPlainId(id)).toBe(expected));
});

describe('collecting outputs', () => {
  let root: string;
  let work: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'escalon-outputs-'));
    work = join(root, 'work');
    await mkdir(join(work, 'plots', 'deep'), { recursive: true });
    await writeFile(join(work, 'result.json'), '{}');
    await writeFile(join(work, 'plots', 'a.png'), 'a');
    await writeFile(join(work, 'plots', 'deep', 'b.png'), 'b');
    await writeFile(join(root, 'secret'), 's');
  });

  afterEach(() => rm(root, { recursive: true }));

  it('A-47 finds files by path, folder and pattern, each once', async () => {
    const found = await collectOutputs(work, ['result.json', 'plots', 'plots/*.png']);
    expect(found).toEqual({ files: ['plots/a.png', 'plots/deep/b.png', 'result.json'], missing: [], refused: [] });
  });

  it('names literal paths that are missing, not patterns', async () => {
    const found = await collectOutputs(work, ['gone.txt', 'gone/*.txt']);
    expect(found).toEqual({ files: [], missing: ['gone.txt'], refused: [] });
  });

  it('refuses patterns and links that lead out, and takes links that stay', async () => {
    await symlink(join(root, 'secret'), join(work, 'out.link'));
    await symlink('plots/a.png', join(work, 'in.link'));
    await symlink(root, join(work, 'folder.link'));
    await symlink('nowhere', join(work, 'broken.link'));
    const found = await collectOutputs(work, ['../secret', '*.link', '/etc/*', 'folder.link/secret']);
    expect(found.files).toEqual(['in.link']);
    expect(found.refused).toEqual([
      '../secret (outside)',
      '/etc/* (outside)',
      'folder.link/secret (outside)',
      'broken.link (outside)',
      'folder.link (outside)',
      'out.link (outside)',
    ]);
  });

  it('refuses what is no file, and takes hard links only when all names are inside', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(work, 'pipe')]);
    await symlink('pipe', join(work, 'pipe.link'));
    await link(join(work, 'result.json'), join(work, 'plots', 'same.json'));
    await link(join(root, 'secret'), join(work, 'stolen'));
    const found = await collectOutputs(work, ['pipe', '*.link', '*.json', 'plots/same.json', 'st*']);
    expect(found.files).toEqual(['plots/same.json', 'result.json']);
    expect(found.refused).toEqual(['pipe (no file)', 'pipe.link (no file)', 'stolen (has a name outside)']);
  });

  it('takes nothing from a folder that was replaced', async () => {
    await rm(work, { recursive: true });
    await symlink(root, work);
    expect(await collectOutputs(work, ['secret', '*'])).toEqual({
      files: [],
      missing: [],
      refused: ['the folder itself was replaced'],
    });
  });

  it('describes a file by its content', async () => {
    expect(await describeFile(work, 'result.json')).toEqual({
      path: 'result.json',
      sha256: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
      size: 2,
      mediaType: 'application/json',
    });
  });
});
