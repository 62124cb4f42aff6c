import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Artifact } from '#contracts';
import { insidePath, isBelow } from '../runner/inside.js';
import { globToRegExp, isLiteral } from './glob.js';
import { mediaTypeOf } from './media-type.js';

/** The files that a task's output patterns name, and what is wrong with the patterns. */
export interface Collected {
  readonly files: readonly string[];
  /** Literal paths that name nothing. */
  readonly missing: readonly string[];
  /** Patterns, or links that match one, that lead out of the task's folder. */
  readonly refused: readonly string[];
}

/**
 * Looks for outputs below `work`. A literal path that is a folder means everything in it. A link counts as the file it
 * leads to, when that lies in the folder too; folders behind links are not entered.
 */
export const collectOutputs = async (work: string, patterns: readonly string[]): Promise<Collected> => {
  const root = await realpath(work);
  const refused = patterns.filter((pattern) => insidePath(pattern) === undefined);
  const wanted = patterns.flatMap((pattern) => insidePath(pattern) ?? []);
  const all = wanted.length === 0 ? [] : await walk(root, root);
  const matched = new Set<string>();
  const missing: string[] = [];
  for (const pattern of wanted) {
    const matches = all.filter(matcher(pattern));
    for (const path of matches) matched.add(path);
    if (matches.length === 0 && isLiteral(pattern) && !(await isThere(join(root, pattern)))) missing.push(pattern);
  }
  const files: string[] = [];
  for (const path of [...matched].sort()) {
    const target = await realpath(join(root, path)).catch(() => undefined);
    if (target === undefined || !isBelow(root, target)) refused.push(path);
    else if ((await lstat(target)).isFile()) files.push(path);
  }
  return { files, missing, refused };
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

const matcher = (pattern: string): ((path: string) => boolean) => {
  if (isLiteral(pattern)) return (path) => path === pattern || path.startsWith(`${pattern}/`);
  const expression = globToRegExp(pattern);
  return (path) => expression.test(path);
};

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** All files and links below a folder, as paths relative to `root`. */
const walk = async (root: string, folder: string): Promise<string[]> => {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await walk(root, path)));
    else if (entry.isFile() || entry.isSymbolicLink()) found.push(relative(root, path));
  }
  return found;
};
