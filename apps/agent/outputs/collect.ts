import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { Artifact } from '#contracts';
import { insidePath, isBelow } from '../runner/inside.js';
import { globMatcher, isLiteral } from './glob.js';
import { mediaTypeOf } from './media-type.js';

/** The server takes no more of one execution. */
export const MOST_OUTPUTS = 4_000;

/** The files that a task's output patterns name, and what is wrong with the patterns. */
export interface Collected {
  readonly files: readonly string[];
  /** Literal paths that name nothing. */
  readonly missing: readonly string[];
  /** What is not taken, with the reason: patterns and links that lead out, files known elsewhere too, what is no file. */
  readonly refused: readonly string[];
}

/**
 * Looks for outputs below `work`. A literal path that is a folder means everything in it. A link counts as the file it
 * leads to, when that lies in the folder too; folders behind links are not entered. A file with a further name outside of
 * the folder (a hard link) is not taken: its content may be another's. Nothing of the task runs any more.
 */
export const collectOutputs = async (work: string, patterns: readonly string[]): Promise<Collected> => {
  const root = join(await realpath(dirname(work)), basename(work));
  if (!(await lstat(root)).isDirectory())
    return { files: [], missing: [], refused: ['the folder itself was replaced'] };
  const refused = patterns.filter((pattern) => insidePath(pattern) === undefined).map((path) => `${path} (outside)`);
  const wanted = patterns.flatMap((pattern) => insidePath(pattern) ?? []);
  const all = wanted.length === 0 ? [] : await walk(root, root);
  const names = all.length === 0 ? new Map<string, number>() : await namesOf(root, all);
  const matched = new Set<string>();
  const missing: string[] = [];
  for (const pattern of wanted) {
    const matches = all.filter(matcher(pattern));
    for (const path of matches) matched.add(path);
    if (matches.length > 0 || !isLiteral(pattern)) continue;
    const real = await realpath(join(root, pattern)).catch(() => undefined);
    if (real === undefined) missing.push(pattern);
    else if (!isBelow(root, real)) refused.push(`${pattern} (outside)`);
  }
  const files: string[] = [];
  for (const path of [...matched].sort()) {
    const why = await refusalOf(root, path, names);
    if (why === undefined) files.push(path);
    else if (why !== '') refused.push(`${path} (${why})`);
  }
  return { files, missing, refused };
};

/** Why a path is not taken; empty for a link to a folder, which is passed over; undefined when it is taken. */
const refusalOf = async (
  root: string,
  path: string,
  names: ReadonlyMap<string, number>,
): Promise<string | undefined> => {
  const target = await realpath(join(root, path)).catch(() => undefined);
  if (target === undefined || !isBelow(root, target)) return 'outside';
  const file = await lstat(target);
  if (file.isDirectory()) return '';
  if (!file.isFile()) return 'no file';
  return file.nlink > (names.get(`${file.dev}:${file.ino}`) ?? 0) ? 'has a name outside' : undefined;
};

/** How many names each file that has several has below the folder. */
const namesOf = async (root: string, paths: readonly string[]): Promise<Map<string, number>> => {
  const names = new Map<string, number>();
  for (const path of paths) {
    const file = await lstat(join(root, path)).catch(() => undefined);
    if (file?.isFile()) names.set(`${file.dev}:${file.ino}`, (names.get(`${file.dev}:${file.ino}`) ?? 0) + 1);
  }
  return names;
};

/** What is published of a file: its path, digest, size and kind. */
export const describe = async (work: string, path: string): Promise<Artifact> => {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(join(work, path)) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { path, sha256: hash.digest('hex'), size, mediaType: mediaTypeOf(path) };
};

const matcher = (pattern: string): ((path: string) => boolean) =>
  isLiteral(pattern) ? (path) => path === pattern || path.startsWith(`${pattern}/`) : globMatcher(pattern);

/** Everything below a folder but folders, as paths relative to `root`. */
const walk = async (root: string, folder: string): Promise<string[]> => {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) found.push(relative(root, path));
    else for (const below of await walk(root, path)) found.push(below);
  }
  return found;
};
