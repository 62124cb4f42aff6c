// Compiles apps, libs and test into dist/ with SWC. Types are checked apart (`npm run types`), so a build takes
// a second or two and `npm ci` can afford it.
import { cpSync, globSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);
if (!process.argv.includes('--keep')) rmSync('dist', { recursive: true, force: true });
const swc = join('node_modules', '@swc', 'cli', 'bin', 'swc.js');
const sources = ['apps', 'libs', 'test'];
const built = spawnSync(process.execPath, [swc, ...sources, '-d', 'dist', '--quiet', '--config-file', '.swcrc'], {
  stdio: 'inherit',
});
if (built.status !== 0) process.exit(built.status ?? 1);
// Schemas and static files are read at run time from beside the code that reads them.
for (const file of globSync(['apps/**/*.json', 'libs/**/*.json', 'libs/**/*.sql'])) cpSync(file, join('dist', file));
