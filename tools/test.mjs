// `npm test`: everything that must hold before a change goes in, in one command that starts what it needs itself.
// Checks of the source run two at a time, then the tests by size. Every check runs even when one before it failed, so that
// one run names all that is wrong. The last line of a good run is `N passed, M failed`.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);
// `npm run` finds the packaged Node first; do the same when started by hand.
process.env.PATH = join(root, 'node_modules', '.bin') + delimiter + (process.env.PATH ?? '');

const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
const reports = mkdtempSync(join(tmpdir(), 'escalon-test-'));

const build = { name: 'build', command: ['node', 'tools/build.mjs', '--keep'] };
const checks = [
  {
    name: 'types',
    command: ['tsc', '--noEmit', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/types.tsbuildinfo'],
  },
  { name: 'eslint', command: ['eslint', '.', '--max-warnings', '0'] },
  { name: 'prettier', command: ['prettier', '--check', '--log-level', 'warn', '.'] },
  { name: 'arch', command: ['depcruise', '--config', '.dependency-cruiser.cjs', 'apps', 'libs', 'test'] },
  { name: 'knip', command: ['knip', '--no-progress'] },
];
/** On a small machine jest would take one, and then run all the files in its own process, which keeps what each has left. */
const workers = Math.max(2, availableParallelism() - 1);
const suites = [
  { name: 'unit and int', projects: ['unit', 'int'], flags: [`--maxWorkers=${workers}`] },
  // Whole processes, one file at a time: they share the machine's cores, and their deadlines are real. A test that fails may
  // leave some of them running, for which jest would wait.
  { name: 'e2e', projects: ['e2e'], flags: ['--runInBand', '--forceExit'] },
];

/** What takes longer hangs: it is ended, and what was running is printed. */
const LONGEST_MINUTES = 30;

const endHung = (name, child) => {
  console.log(`${name} did not end within ${LONGEST_MINUTES} minutes; these are running:`);
  spawnSync('ps', ['-eo', 'pid,ppid,etimes,args', '--sort=pid'], { stdio: 'inherit' });
  child.kill('SIGKILL');
};

/** Runs one command; its output is printed whole when it ends, so that two at a time stay readable. */
const run = ({ name, command: [program, ...args], live = false }) =>
  new Promise((resolve) => {
    const started = Date.now();
    const child = spawn(program, args, { stdio: live ? 'inherit' : ['ignore', 'pipe', 'pipe'] });
    const bound = setTimeout(() => endHung(name, child), LONGEST_MINUTES * 60_000);
    const chunks = [];
    child.stdout?.on('data', (chunk) => chunks.push(chunk));
    child.stderr?.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (error) => chunks.push(Buffer.from(String(error))));
    child.on('close', (code) => {
      clearTimeout(bound);
      const ok = code === 0;
      const seconds = ((Date.now() - started) / 1000).toFixed(1);
      console.log(`${ok ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
      if (!ok && chunks.length > 0) console.log(Buffer.concat(chunks).toString().trimEnd());
      resolve(ok);
    });
  });

const failed = [];
const record = async (step) => {
  if (!(await run(step))) failed.push(step.name);
};

/** Works the list off with two hands. */
const twoAtATime = async (steps) => {
  const waiting = [...steps];
  const hand = async () => {
    for (let step = waiting.shift(); step; step = waiting.shift()) await record(step);
  };
  await Promise.all([hand(), hand()]);
};

const runSuite = async ({ name, projects, flags }) => {
  const report = join(reports, `${projects[0]}.json`);
  const args = [...jest, '--selectProjects', ...projects, '--passWithNoTests', ...flags];
  await record({ name, command: ['node', ...args, '--json', `--outputFile=${report}`, '--silent'], live: true });
  try {
    return JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    // jest ended before it could report; its exit code is already counted.
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  }
};

await record(build);
await twoAtATime(checks);
const results = [];
for (const suite of suites) results.push(await runSuite(suite));
rmSync(reports, { recursive: true, force: true });

const total = (...fields) =>
  results.reduce((sum, result) => sum + fields.reduce((n, field) => n + result[field], 0), 0);
const skipped = total('numPendingTests', 'numTodoTests');
if (failed.length > 0) console.log(`FAILED: ${failed.join(', ')}`);
console.log(
  `${total('numPassedTests')} passed, ${total('numFailedTests')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
);
process.exit(failed.length > 0 ? 1 : 0);
