import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join, sep } from 'node:path';

/** More links in a way than any system follows. */
const MOST_LINKS = 40;

/** What is in a folder that should not be: links that lead out of it, whatever they meet on the way, and special files. */
export const troubleIn = (root: string, folder = root): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = lstatSync(path);
    if (found.isDirectory()) return troubleIn(root, path);
    if (found.isSymbolicLink()) return leadsOutside(root, path) ? [`${path} -> ${readlinkSync(path)}`] : [];
    if (!found.isFile()) return [`${path} is special`];
    return (found.mode & 0o7022) === 0 ? [] : [`${path} has mode ${found.mode.toString(8)}`];
  });

/**
 * Goes the way of a path as the kernel does, step by step and link by link, also where it ends in nothing. Written apart from
 * what decides which links are taken, so that the two can disagree.
 */
const leadsOutside = (root: string, path: string): boolean => {
  let at = root;
  let links = 0;
  const steps = path.slice(root.length).split(sep);
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    if (step === '' || step === '.') continue;
    at = join(at, step);
    if (at !== root && !at.startsWith(root + sep)) return true;
    const found = lstatSync(at, { throwIfNoEntry: false });
    // No way goes on through a file.
    if (found?.isFile()) return false;
    if (!found?.isSymbolicLink()) continue;
    links += 1;
    if (links > MOST_LINKS) return false;
    const target = readlinkSync(at);
    if (target.startsWith(sep)) return true;
    at = join(at, '..');
    steps.unshift(...target.split(sep));
  }
  return false;
};
