// Compiles apps, libs and test into dist/ with SWC. Types are checked apart (`npm run types`), so a build takes
// a second or two and `npm ci` can afford it. What runs from dist/ goes on: the new one takes its place when it is whole.
//
//   --keep      compile into the dist/ that is there
//   --prepare   after an installation: nothing when dist/ is newer than its sources; also lets `npx escalon` find this checkout
import { cpSync, globSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);
const [keep, prepare] = ['--keep', '--prepare'].map((flag) => process.argv.includes(flag));
const sources = ['apps', 'libs', 'test'];
/** Written last, so that a build that was cut short is none. */
const STAMP = join('dist', '.built');

const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const isBuilt = () => {
  const built = changedAt(STAMP);
  const files = globSync([
    ...sources.map((folder) => `${folder}/**/*`),
    '.swcrc',
    'tools/build.mjs',
    'package-lock.json',
  ]);
  return built > 0 && files.every((file) => changedAt(file) <= built);
};

/** npm links the commands of what is installed, not those of the checkout itself; without one npx would install it anew. */
const linkCommand = () => {
  const link = join('node_modules', '.bin', 'escalon');
  mkdirSync(dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join('..', '..', 'bin', 'escalon.js'), link);
};

const build = () => {
  const out = keep ? 'dist' : `dist.${process.pid}`;
  const swc = join('node_modules', '@swc', 'cli', 'bin', 'swc.js');
  const built = spawnSync(process.execPath, [swc, ...sources, '-d', out, '--quiet', '--config-file', '.swcrc'], {
    stdio: 'inherit',
  });
  if (built.status !== 0) {
    if (!keep) rmSync(out, { recursive: true, force: true });
    process.exit(built.status ?? 1);
  }
  // Schemas and static files are read at run time from beside the code that reads them.
  for (const file of globSync(['apps/**/*.json', 'libs/**/*.json', 'libs/**/*.sql'])) cpSync(file, join(out, file));
  if (!keep) {
    rmSync('dist', { recursive: true, force: true });
    renameSync(out, 'dist');
  }
  writeFileSync(STAMP, '');
};

if (prepare) linkCommand();
if (!prepare || !isBuilt()) build();
