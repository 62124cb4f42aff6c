import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { insidePath, isPlainId } from '../runner/inside.js';
import { collectOutputs, describe as describeFile } from './collect.js';
import { globToRegExp, isLiteral } from './glob.js';

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
  ])('%s on %s: %s', (pattern, path, expected) => expect(globToRegExp(pattern).test(path)).toBe(expected));

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
    const found = await collectOutputs(work, ['../secret', '*.link', '/etc/*']);
    expect(found.files).toEqual(['in.link']);
    expect(found.refused).toEqual(['../secret', '/etc/*', 'broken.link', 'folder.link', 'out.link']);
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
