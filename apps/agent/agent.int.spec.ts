import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runAgent } from './agent.js';
import type { AgentOptions, RunningAgent } from './agent.js';
import { processTable } from './runner/process-table.js';
import type { JournalEntry } from './journal/entry.js';
import { AgentWorld, own, running } from './testing/agent-world.js';
import { tarOf } from './testing/archives.js';
import { someAssignment } from './testing/assignments.js';
import { CuttingProxy } from './testing/cutting-proxy.js';
import { eventually } from './testing/eventually.js';
import { FileServer, generated, selfSigned, sha256Of } from './testing/file-server.js';
import type { RecordedControlPlane } from './testing/recorded-control-plane.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

let world: AgentWorld;
let plane: RecordedControlPlane;
let data: string;
let agent: RunningAgent | undefined;
const opened: { close(): Promise<void> }[] = [];

/** Closed after the test, however that ends. */
const closing = <Opened extends { close(): Promise<void> }>(one: Opened): Opened => {
  opened.push(one);
  return one;
};

const begin = async (more: Partial<AgentOptions> = {}): Promise<RunningAgent> => (agent = await world.begin(more));

beforeEach(async () => {
  world = await AgentWorld.start();
  ({ plane, data } = world);
});

afterEach(async () => {
  await world.stop();
  agent = undefined;
  for (const one of opened.splice(0).reverse()) await one.close();
});

const sh = (script: string): string[] => ['sh', '-c', script];

const untilGo = (before: string, after: string): string[] => world.untilGo(before, after);
const go = (): Promise<void> => world.go();
const journalled = (executionId: string): Partial<JournalEntry> => world.journalled(executionId);
const runs = (marker: string): boolean => running(marker).length > 0;

describe('an agent at work', () => {
  it('A-47 A-48 runs a task and reports its artifacts and consumption', async () => {
    await begin();
    const command = sh('echo hello; echo oops >&2; mkdir plots; echo 1,2 > plots/a.csv; echo {} > result.json');
    plane.assign(someAssignment('job1.e1', command, { outputs: ['result.json', 'plots/**'] }));

    const succeeded = await plane.reported('job1.e1', 'succeed');

    expect(plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'publish', 'succeed']);
    expect(succeeded).toMatchObject({ fencingToken: 7, exitCode: 0 });
    expect(succeeded.artifacts).toEqual([
      { path: 'plots/a.csv', sha256: plane.store('1,2\n'), size: 4, mediaType: 'text/csv' },
      { path: 'result.json', sha256: plane.store('{}\n'), size: 3, mediaType: 'application/json' },
    ]);
    expect(succeeded.consumption).toMatchObject({ gpuSeconds: 0, bytesIn: 0, bytesOut: 7 });
    expect(succeeded.consumption.wallSeconds).toBeGreaterThan(0);
    expect(succeeded.consumption.maxMemory).toBeGreaterThan(0);
    expect(plane.log('job1.e1', 'stdout')).toBe('hello\n');
    expect(plane.log('job1.e1', 'stderr')).toBe('oops\n');
    await plane.until(() => !existsSync(join(data, 'tasks', 'job1.e1')), 'the folder is removed');
    expect(await readdir(join(data, 'journal'))).toEqual([]);
  });

  it('A-48 counts the CPU time of the whole process tree', async () => {
    await begin();
    const burn = 'while (process.cpuUsage().user < 300_000);';
    plane.assign(someAssignment('job1.e1', sh(`node -e '${burn}' & node -e '${burn}' & wait`)));

    const { consumption } = await plane.reported('job1.e1', 'succeed');

    expect(consumption.cpuSeconds).toBeGreaterThan(0.5);
    expect(consumption.maxMemory).toBeGreaterThan(40 * 2 ** 20);
  });

  it('G-25 G-26 confirms with the batch that there is room for, which the task is told', async () => {
    await begin({ inventory: { cpu: 4, memory: GIB, disk: GIB, gpus: [] } });
    const contract = { cpu: 1, memory: 2 * GIB, disk: 0, ioSlots: 0, gpus: [], batchSize: 15 };
    const batch = { min: 4, memoryPerItem: GIB / 8, gpuMemoryPerItem: 0 };
    plane.assign(someAssignment('job1.e1', sh('env'), { batch }, { contract }));

    await plane.reported('job1.e1', 'succeed');

    const granted = { ...contract, memory: GIB, batchSize: 7 };
    expect(await plane.reported('job1.e1', 'confirm')).toMatchObject({ fencingToken: 7, contract: granted });
    const told = plane.log('job1.e1', 'stdout').split('\n');
    expect(told).toEqual(expect.arrayContaining(['ESCALON_BATCH_SIZE=7', `ESCALON_MEMORY=${GIB}`]));
  });

  it('gives the task a clean environment that tells its contract', async () => {
    process.env['SECRET_OF_THE_AGENT'] = 'x';
    await begin({ inventory: { cpu: 4, memory: GIB, disk: GIB, gpus: [{ id: 'GPU-1', model: 'T4', memory: GIB }] } });
    const contract = {
      cpu: 1.5,
      memory: GIB / 2,
      disk: 0,
      ioSlots: 0,
      gpus: [{ id: 'GPU-1', share: 0.5, memory: 10 }],
      batchSize: 64,
    };
    const task = { env: { MODE: 'fast', ESCALON_CPUS: '99' }, partition: 2, partitions: 5 };
    plane.assign(someAssignment('job1.e1', sh('env; command -v node'), task, { contract, attempt: 3 }));

    const { consumption } = await plane.reported('job1.e1', 'succeed');

    const lines = plane.log('job1.e1', 'stdout').split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'ESCALON_JOB_ID=job1',
        'ESCALON_EXECUTION_ID=job1.e1',
        'ESCALON_ATTEMPT=3',
        'ESCALON_PARTITION=2',
        'ESCALON_PARTITIONS=5',
        'ESCALON_CPUS=1.5',
        `ESCALON_MEMORY=${String(GIB / 2)}`,
        'ESCALON_GPUS=GPU-1',
        'CUDA_VISIBLE_DEVICES=GPU-1',
        'ESCALON_BATCH_SIZE=64',
        'MODE=fast',
        process.execPath,
      ]),
    );
    expect(lines.join()).not.toMatch(/SECRET_OF_THE_AGENT|let-me-in|node-token/);
    expect(consumption.gpuSeconds).toBeCloseTo(consumption.wallSeconds / 2, 2);
    delete process.env['SECRET_OF_THE_AGENT'];
  });

  it('G-21 declines what does not fit in time, and says why', async () => {
    await begin();
    const contract = { cpu: 3, memory: GIB, disk: 0, ioSlots: 0, gpus: [] };
    plane.assign(someAssignment('job1.e1', ['sleep', '60'], {}, { contract }));
    await plane.reported('job1.e1', 'start');
    const confirmBy = new Date(Date.now() + 1_200).toISOString();
    plane.assign(someAssignment('job2.e1', ['true'], {}, { contract, confirmBy }));

    const declined = await plane.reported('job2.e1', 'decline');

    expect(declined.reason).toBe(
      'cpu: asked 3, 1 of 4 free; lane cpu (backfill), place 1 of 1; expected start unknown',
    );
    expect(plane.typesOf('job2.e1')).toEqual(['decline']);
  });

  it('G-27 declines at once what can never fit', async () => {
    await begin();
    const contract = { cpu: 5, memory: GIB, disk: 0, ioSlots: 0, gpus: [] };
    plane.assign(someAssignment('job1.e1', ['true'], {}, { contract }));

    expect((await plane.reported('job1.e1', 'decline')).reason).toBe('cpu: asked 5, 4 of 4 free');
  });

  it('G-23 confirms what had to wait when there is room, unless it is not wanted any more', async () => {
    await begin();
    const contract = { cpu: 3, memory: GIB, disk: 0, ioSlots: 0, gpus: [] };
    plane.assign(someAssignment('job1.e1', untilGo('true', 'true'), {}, { contract }));
    await plane.reported('job1.e1', 'start');
    for (const id of ['job2.e1', 'job3.e1', 'job4.e1']) plane.assign(someAssignment(id, ['true'], {}, { contract }));
    plane.desire('job2.e1', 'stop');
    expect(await plane.reported('job2.e1', 'fail')).toMatchObject({ class: 'cancelled', code: 'stopped' });
    plane.unassign('job3.e1');
    await go();
    await plane.reported('job4.e1', 'succeed');

    expect(plane.typesOf('job4.e1')[0]).toBe('confirm');
    expect(plane.typesOf('job3.e1')).toEqual([]);
  });

  it('runs nothing whose confirmation is refused', async () => {
    await begin();
    plane.stale.add('job1.e1');
    plane.assign(someAssignment('job1.e1', sh('touch /tmp/never; sleep 60')));
    await plane.reported('job1.e1', 'confirm');
    plane.assign(someAssignment('job2.e1', ['true']));
    await plane.reported('job2.e1', 'succeed');

    expect(plane.typesOf('job1.e1')).toEqual(['confirm']);
    expect(await readdir(join(data, 'journal'))).not.toContain('job1.e1.json');
  });

  it('tells in plain words when its result was refused as malformed', async () => {
    await begin();
    plane.malformed.add('succeed');
    plane.assign(someAssignment('job1.e1', ['true']));

    const failed = await plane.reported('job1.e1', 'fail');

    expect(failed).toMatchObject({ class: 'infrastructure', code: 'report-refused' });
    expect(failed.message).toMatch(/too many artifacts/);
    await eventually(() => !existsSync(join(data, 'journal', 'job1.e1.json')), 'it is put away');
  });

  it('tells of an inventory that changed', async () => {
    const config = join(data, 'tool');
    await writeFile(config, '1.0.0');
    const probes = { python: false, packages: [{ name: 'tool', command: ['cat', config] }] };
    const inventory = { cpu: 4, memory: GIB, disk: GIB, applications: [], gpus: [] };
    const running = await begin({ inventory, probes });
    // In one step: a look that is under way must not find the file empty.
    await writeFile(`${config}.new`, '1.1.0');
    await rename(`${config}.new`, config);

    // A look may be under way from the start; the second one begins after it.
    await running.probe();
    await running.probe();

    expect(plane.enrolments[0]?.inventory.packages).toEqual([{ name: 'tool', version: '1.0.0' }]);
    expect(plane.inventories).toMatchObject([{ packages: [{ name: 'tool', version: '1.1.0' }] }]);
    expect(plane.heartbeats).toBeGreaterThan(0);
  });

  it('keeps its id and token, readable by itself only, and shows the token when it comes back', async () => {
    await (await begin()).stop();
    await begin();

    expect(plane.enrolTokens).toEqual(['Bearer let-me-in', 'Bearer node-token']);
    expect(statSync(join(data, 'identity.json')).mode & 0o777).toBe(0o600);
  });

  it('sees one data folder through one agent at a time', async () => {
    await begin();
    const options = { url: plane.url, data, name: 'lab-2', probes: { python: false } };
    await expect(runAgent({ ...options, folderWait: 0 })).rejects.toThrow(/in use by another agent/);
  });

  it('waits for an agent that is about to end', async () => {
    const first = await begin();
    const second = begin();
    await first.stop();
    expect((await second).nodeId).toBe('lab-1');
  });
});

describe('progress, pause and stop', () => {
  it('A-42 reports progress from standard output and from the progress file, the last one always', async () => {
    await begin();
    const script =
      'for i in 1 2 3 4 5 6 7 8; do echo "::progress 0.$i step $i"; done; echo "1 done" > "$ESCALON_PROGRESS_FILE"';
    plane.assign(someAssignment('job1.e1', sh(script)));

    const { consumption } = await plane.reported('job1.e1', 'succeed');

    const ticks = plane.reportsOf('job1.e1').filter(({ type }) => type === 'progress');
    // At once, every second after it, and at the end.
    expect(ticks.length).toBeLessThanOrEqual(2 + consumption.wallSeconds);
    expect(ticks.at(-1)).toMatchObject({ fraction: 1, message: 'done' });
  });

  it('stops the whole process tree, also what left the process group and ignores SIGTERM', async () => {
    await begin();
    const [fled = '', ...slept] = ['87.001', '87.002', '87.003', '87.004'].map(own);
    const [beside, first, second] = slept.map((seconds) => `sleep ${seconds}`);
    const stubborn = `setsid sh -c 'trap "" TERM; sleep ${fled}' & ${beside} & trap '' TERM; echo up; ${first}; ${second}`;
    plane.assign(someAssignment('job1.e1', sh(stubborn)));
    await plane.until(() => plane.log('job1.e1', 'stdout') === 'up\n', 'the task is up');

    plane.desire('job1.e1', 'stop');
    const failed = await plane.reported('job1.e1', 'fail');

    expect(failed).toMatchObject({ class: 'cancelled', code: 'stopped' });
    expect([fled, ...slept].filter(runs)).toEqual([]);
  });

  it('kills what is no longer listed', async () => {
    await begin();
    plane.assign(someAssignment('job1.e1', ['sleep', own('88.001')]));
    await plane.reported('job1.e1', 'start');

    plane.unassign('job1.e1');
    const failed = await plane.reported('job1.e1', 'fail');

    expect(failed).toMatchObject({ class: 'cancelled', code: 'not-assigned' });
    expect(runs(own('88.001'))).toBe(false);
  });

  it('kills what the server no longer wants to hear of', async () => {
    await begin();
    plane.assign(someAssignment('job1.e1', untilGo('true', `echo ::progress 0.5; exec sleep ${own('89.001')}`)));
    await plane.reported('job1.e1', 'start');

    plane.stale.add('job1.e1');
    await go();
    await plane.reported('job1.e1', 'progress');
    await plane.until(() => !existsSync(join(data, 'journal', 'job1.e1.json')), 'it is cleaned up');

    expect(runs(own('89.001'))).toBe(false);
    expect(plane.typesOf('job1.e1')).not.toContain('fail');
  });

  it('pauses and resumes a task in place', async () => {
    await begin();
    plane.assign(someAssignment('job1.e1', sh('echo up; while [ ! -e go ]; do sleep 0.05; done'), { outputs: ['go'] }));
    await plane.until(() => plane.log('job1.e1', 'stdout') === 'up\n', 'the task is up');

    plane.desire('job1.e1', 'pause');
    await plane.reported('job1.e1', 'pause');
    await eventually(() => journalled('job1.e1').process !== undefined, 'the process is recorded');
    // What had just ended stays as a zombie, and a parent that waits for its child to begin waits on.
    const group = (): ReturnType<typeof processTable> =>
      processTable().filter(({ group }) => group === journalled('job1.e1').process?.pid);
    await eventually(
      () => group().length > 1 && group().every(({ state }) => 'TZD'.includes(state)),
      'the whole group stands still',
    );

    plane.desire('job1.e1', 'run');
    await plane.reported('job1.e1', 'resume');
    plane.desire('job1.e1', 'stop');
    await plane.reported('job1.e1', 'fail');
    expect(plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'pause', 'resume', 'fail']);
  });

  it('ends its tasks as agent-stopped when it is stopped itself', async () => {
    const stopping = await begin();
    plane.assign(someAssignment('job1.e1', ['sleep', own('90.001')]));
    await plane.reported('job1.e1', 'start');

    await stopping.stop();

    expect(plane.reportsOf('job1.e1').at(-1)).toMatchObject({ class: 'infrastructure', code: 'agent-stopped' });
    expect(runs(own('90.001'))).toBe(false);
  });
});

const missing = [{ source: `sha256:${'0'.repeat(64)}`, path: 'in.csv' }];

describe('A-44 failures are classified', () => {
  const failureOf = async (command: string[], more = {}, rest = {}) => {
    await begin();
    plane.assign(someAssignment('job1.e1', command, more, rest));
    return plane.reported('job1.e1', 'fail');
  };
  const hungry = 'const kept = []; for (;;) kept.push(Buffer.alloc(16 * 1048576, 1))';

  it.each<[string, string[], object, object, object]>([
    ['an exit code', sh('exit 3'), {}, {}, { class: 'application', code: 'exit-code', exitCode: 3 }],
    [
      'a signal',
      sh('kill -SEGV $$'),
      {},
      {},
      { class: 'application', code: 'signal', diagnostics: { signal: 'SIGSEGV' } },
    ],
    ['a command that is not there', ['no-such-program'], {}, {}, { class: 'application', code: 'command-not-found' }],
    ['out of memory', ['node', '-e', hungry], {}, {}, { class: 'resource', code: 'out-of-memory' }],
    ['an input that is not there', ['true'], {}, { inputs: missing }, { class: 'input', code: 'input-missing' }],
    // The kernel's own answer, on a device that is always full.
    [
      'a full disk',
      sh('cat /proc/self/stat > /dev/full'),
      {},
      {},
      { class: 'resource', code: 'disk-full', exitCode: 1 },
    ],
    [
      'a timeout',
      ['sleep', own('92.001')],
      { runTimeout: 1 },
      {},
      { class: 'timeout', message: 'timed out after 1 s' },
    ],
  ])('R-03 %s', async (_what, command, task, rest, expected) => {
    expect(await failureOf(command, task, rest)).toMatchObject(expected);
    // What never ran says so, and nothing of what ran is left.
    const ran = !['input-missing', 'command-not-found'].includes((expected as { code?: string }).code ?? '');
    expect(plane.typesOf('job1.e1').includes('start')).toBe(ran);
    expect(runs(own('92.001'))).toBe(false);
  });

  it('R-03 a disk of the node that is full', async () => {
    const small = join(data, 'small');
    mkdirSync(small);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', small], { encoding: 'utf8' });
    // Only root may do that, and not in every container.
    if (mounted.status !== 0) return expect(mounted.stderr).toMatch(/permi|superuser|root/);
    try {
      const inputs = [{ source: `sha256:${plane.store(Buffer.alloc(4 * MIB, 1))}`, path: 'in' }];
      await begin({ data: small });
      plane.assign(someAssignment('job1.e1', ['true'], {}, { inputs }));
      const failed = await plane.reported('job1.e1', 'fail');
      expect(failed).toMatchObject({ class: 'resource', code: 'disk-full' });
      expect(failed.message).toMatch(/^no space left on the node's disk while/);
      plane.assign(someAssignment('job2.e1', ['true']));
      await plane.reported('job2.e1', 'succeed');
    } finally {
      await agent?.stop();
      spawnSync('umount', ['-l', small]);
    }
  });

  it('A-43 an exit code is the application’s, with the last lines of its diagnostics', async () => {
    const script = 'for i in $(seq 30); do echo line $i >&2; done; echo x > partial.txt; exit 3';
    const failed = await failureOf(sh(script), { outputs: ['partial.txt', 'result.json'] });

    expect(failed).toMatchObject({ class: 'application', code: 'exit-code', exitCode: 3 });
    expect(failed.diagnostics?.['stderr']).toHaveLength(20);
    expect(failed.diagnostics?.['peakMemory']).toBe(failed.consumption?.maxMemory);
    expect(failed.diagnostics?.['disk']).toBeGreaterThan(0);
    expect(failed.diagnostics).toMatchObject({ stderr: expect.arrayContaining(['line 30']) as unknown });
    expect(failed.artifacts).toMatchObject([{ path: 'partial.txt', size: 2 }]);
    expect(failed.consumption?.wallSeconds).toBeGreaterThan(0);
  });

  it('a run that takes too long', async () => {
    const failed = await failureOf(sh(`trap "" TERM; echo part > part.txt; sleep ${own('91.001')}`), {
      runTimeout: 3,
      outputs: ['part.txt'],
    });
    expect(failed).toMatchObject({ class: 'timeout', message: 'timed out after 3 s' });
    expect(failed.artifacts).toMatchObject([{ path: 'part.txt' }]);
    expect(runs(own('91.001'))).toBe(false);
  });

  it('an output that was declared and not made', async () => {
    const failed = await failureOf(['true'], { outputs: ['result.json', 'plots/*.png'] });
    expect(failed).toMatchObject({ class: 'application', code: 'output-missing', exitCode: 0 });
    expect(failed.message).toBe('declared but not made: result.json');
  });

  it('an output that leads out of the folder', async () => {
    const failed = await failureOf(sh('ln -s /etc/passwd stolen'), { outputs: ['*'] });
    expect(failed).toMatchObject({ class: 'application', code: 'output-refused' });
    expect(plane.artifacts.size).toBe(0);
  });

  it('an input whose bytes do not verify', async () => {
    const sha256 = plane.store('numbers');
    plane.corrupt.add(sha256);
    const failed = await failureOf(['true'], {}, { inputs: [{ source: `sha256:${sha256}`, path: 'in.csv' }] });
    expect(failed).toMatchObject({ class: 'input', code: 'input-corrupt' });
  });

  it('an input placed outside the folder', async () => {
    const sha256 = plane.store('numbers');
    const failed = await failureOf(['true'], {}, { inputs: [{ source: `sha256:${sha256}`, path: '../../x' }] });
    expect(failed).toMatchObject({ class: 'input', code: 'input-path' });
  });

  it.each([
    ['t', 't is there already, from another input'],
    ['t/a/x.txt', 't/a/x.txt is there already, from another input'],
    ['t/a', 't/a is there already, from another input'],
    ['t/a/x.txt/below', 't/a/x.txt, which t/a/x.txt/below needs as a folder, is a file or a link of another input'],
    ['t/ln', 't/ln is there already, from another input'],
    ['t/ln/in', 't/ln, which t/ln/in needs as a folder, is a file or a link of another input'],
  ])('an input at %s, where an archive has put something else', async (path, message) => {
    const archive = await tarOf({ name: 'a/x.txt', content: 'x' }, { name: 'ln', type: 'symlink', linkname: 'a' });
    const inputs = [
      { source: `sha256:${plane.store(archive)}`, path: 't', unpack: true },
      { source: `sha256:${plane.store('numbers')}`, path },
    ];
    expect(await failureOf(['true'], {}, { inputs })).toMatchObject({ class: 'input', code: 'input-path', message });
  });

  it('an archive unpacked below a file', async () => {
    const inputs = [
      { source: `sha256:${plane.store('numbers')}`, path: 'a' },
      { source: `sha256:${plane.store(await tarOf({ name: 'x', content: 'x' }))}`, path: 'a/b', unpack: true },
    ];
    const message = 'a, which a/b needs as a folder, is a file or a link of another input';
    expect(await failureOf(['true'], {}, { inputs })).toMatchObject({ class: 'input', code: 'input-path', message });
  });
});

describe('inputs', () => {
  it('A-41 fetches only what the node does not have, once for all tasks', async () => {
    await begin();
    const one = plane.store('one\n');
    const two = plane.store('two\n');
    plane.results.set('job0', [{ path: 'out/two.txt', sha256: two, size: 4, mediaType: 'text/plain' }]);
    const inputs = [
      { source: `sha256:${one}`, path: 'data/one.txt' },
      { source: 'job:job0/out/two.txt', path: 'two.txt' },
    ];
    const command = sh('cat data/one.txt; cat two.txt; echo spoilt > data/one.txt');
    plane.assign(someAssignment('job1.e1', command, {}, { inputs }));
    plane.assign(someAssignment('job2.e1', command, {}, { inputs: inputs.slice(0, 1) }));
    const first = await plane.reported('job1.e1', 'succeed');
    const second = await plane.reported('job2.e1', 'succeed');
    plane.assign(
      someAssignment('job3.e1', ['cat', 'one.txt'], {}, { inputs: [{ source: `sha256:${one}`, path: 'one.txt' }] }),
    );
    const third = await plane.reported('job3.e1', 'succeed');

    expect(plane.log('job1.e1', 'stdout')).toBe('one\ntwo\n');
    expect(plane.log('job3.e1', 'stdout')).toBe('one\n');
    expect(plane.requests.filter((request) => request.startsWith('GET /v1/artifacts/'))).toHaveLength(2);
    expect(plane.typesOf('job3.e1')).toEqual(['confirm', 'start', 'succeed']);
    expect(first.consumption.bytesIn + second.consumption.bytesIn).toBe(8);
    expect(third.consumption.bytesIn).toBe(0);
  });

  it('downloads from the web within its size limit', async () => {
    const sha256 = plane.store('x'.repeat(1000));
    const web = `${plane.url}/v1/artifacts/${sha256}`;
    await begin({ allowHttp: true, allowAddresses: ['127.0.0.1'], largestInput: 1000 });
    plane.assign(someAssignment('job1.e1', ['wc', '-c', 'in'], {}, { inputs: [{ source: web, path: 'in' }] }));
    await plane.reported('job1.e1', 'succeed');
    const large = `${plane.url}/v1/artifacts/${plane.store('x'.repeat(1001))}`;
    plane.assign(someAssignment('job2.e1', ['true'], {}, { inputs: [{ source: large, path: 'in' }] }));

    expect(await plane.reported('job2.e1', 'fail')).toMatchObject({ class: 'input', code: 'input-too-large' });
    expect(plane.log('job1.e1', 'stdout')).toMatch(/^1000 /);
  });

  it('A-41 downloads by https what has a digest once, however often the line breaks', async () => {
    const size = Number(process.env['ESCALON_TEST_INPUT'] ?? 256 * MIB);
    const content = generated(size);
    const sha256 = await sha256Of(content);
    const server = closing(await FileServer.start(selfSigned(data)));
    server.put('/big', content);
    const proxy = closing(await CuttingProxy.to(server.port));
    proxy.cutAfter(Math.floor(size / 3), Math.floor(size / 3));
    const inputs = [{ source: server.url('/big', proxy.port), sha256, path: 'in/big' }];
    const authorities = join(data, 'cert.pem');
    await begin({ allowAddresses: ['127.0.0.1'], authorities, cacheLimit: 2 * size, largestInput: size });

    plane.assign(someAssignment('job1.e1', ['sha256sum', 'in/big'], {}, { inputs }));
    const first = await plane.reported('job1.e1', 'succeed', 600_000);
    plane.assign(someAssignment('job2.e1', ['sha256sum', 'in/big'], {}, { inputs }));
    const second = await plane.reported('job2.e1', 'succeed', 600_000);

    expect(proxy.broken).toBe(2);
    expect(server.requests).toHaveLength(3);
    expect([first.consumption.bytesIn, second.consumption.bytesIn]).toEqual([size, 0]);
    expect(plane.log('job1.e1', 'stdout')).toContain(sha256);
    expect(plane.log('job2.e1', 'stdout')).toContain(sha256);
  }, 1_200_000);

  it('goes on after its own restart with what it had of an input', async () => {
    const content = generated(8 * MIB);
    const sha256 = await sha256Of(content);
    const server = closing(await FileServer.start());
    server.put('/big', content);
    const proxy = closing(await CuttingProxy.to(server.port));
    proxy.cutAfter(3 * MIB);
    const web = { allowHttp: true, allowAddresses: ['127.0.0.1'] };
    const inputs = [{ source: server.url('/big', proxy.port), sha256, path: 'big' }];
    const starting = await begin(web);
    plane.assign(someAssignment('job1.e1', ['sha256sum', 'big'], {}, { inputs }));
    await eventually(() => proxy.broken === 1, 'the line broke');
    await starting.stop();
    const left = statSync(join(data, 'cache', 'partial', sha256)).size;

    await begin(web);
    const again = [{ ...inputs[0]!, source: server.url('/big') }];
    plane.assign(someAssignment('job2.e1', ['sha256sum', 'big'], {}, { inputs: again }));
    const { consumption } = await plane.reported('job2.e1', 'succeed');

    expect(left).toBeGreaterThan(2 * MIB);
    expect(consumption.bytesIn).toBe(8 * MIB - left);
    expect(server.requests.at(-1)).toBe(`GET /big bytes=${left}-`);
  });

  it('verifies what it finds in its cache before the first use, and fetches anew what was spoilt', async () => {
    const sha256 = plane.store('numbers');
    const inputs = [{ source: `sha256:${sha256}`, path: 'in' }];
    const run = async (id: string): Promise<number> => {
      plane.assign(someAssignment(id, ['cat', 'in'], {}, { inputs }));
      return (await plane.reported(id, 'succeed')).consumption.bytesIn;
    };
    const first = await begin();
    expect([await run('job1.e1'), await run('job2.e1')]).toEqual([7, 0]);
    await first.stop();
    const cached = join(data, 'cache', 'sha256', sha256.slice(0, 2), `${sha256}.7`);
    await writeFile(cached, 'spoilt!');
    const second = await begin();
    expect([await run('job3.e1'), await run('job4.e1')]).toEqual([7, 0]);
    expect(plane.log('job3.e1', 'stdout')).toBe('numbers');
    await second.stop();
    await writeFile(cached, 'short');
    await begin();
    expect(existsSync(cached)).toBe(false);
    expect(await run('job5.e1')).toBe(7);
  });

  it('A-41 tells what it keeps that is worth telling, after a restart too', async () => {
    const first = await begin();
    await plane.until(() => plane.caches.length === 1, 'the first report');
    await first.stop();
    const [large, small] = [plane.store(Buffer.alloc(MIB, 1)), plane.store(Buffer.alloc(MIB - 1, 1))];
    await begin();
    const inputs = [large, small].map((sha256, index) => ({ source: `sha256:${sha256}`, path: String(index) }));
    plane.assign(someAssignment('job1.e1', ['true'], {}, { inputs }));
    await plane.reported('job1.e1', 'succeed');
    await agent?.stop();
    await begin();
    await plane.until(() => plane.caches.at(-1)?.includes(large) === true, 'what an earlier life has fetched');
    expect(plane.caches.at(0)).toEqual([]);
    expect(plane.caches.at(-1)).toEqual([large]);
  });

  it('keeps its cache within its limit, and never lets go what a running task was given', async () => {
    await begin({ cacheLimit: 250 });
    const source = (name: string): { source: string; path: string } => ({
      source: `sha256:${plane.store(name.repeat(100))}`,
      path: name,
    });
    const cached = (name: string): boolean => {
      const sha256 = source(name).source.slice('sha256:'.length);
      return existsSync(join(data, 'cache', 'sha256', sha256.slice(0, 2), `${sha256}.100`));
    };
    const run = async (id: string, ...names: string[]): Promise<void> => {
      plane.assign(someAssignment(id, ['true'], {}, { inputs: names.map(source) }));
      await plane.reported(id, 'succeed');
    };
    plane.assign(someAssignment('job1.e1', untilGo('true', 'true'), {}, { inputs: [source('a')] }));
    await plane.reported('job1.e1', 'start');
    await run('job2.e1', 'b');
    await run('job3.e1', 'c');
    await eventually(() => !cached('b'), 'the least recently used that is not in use goes');
    expect(['a', 'b', 'c'].map(cached)).toEqual([true, false, true]);
    await go();
    await plane.reported('job1.e1', 'succeed');
    await run('job4.e1', 'b', 'd');
    await eventually(() => !cached('a') && !cached('c'), 'the older ones go');
    expect(['b', 'd'].map(cached)).toEqual([true, true]);
  });
});

describe('a server that is away', () => {
  it('lets the agent wait at its enrolment until it can be reached', async () => {
    await plane.down();
    const starting = begin();
    await plane.up();

    expect((await starting).nodeId).toBe('lab-1');
  });

  it('A-47 gets the result, the logs and the artifacts of what ended meanwhile', async () => {
    await begin();
    plane.assign(someAssignment('job1.e1', untilGo('echo up', 'echo end; echo 42 > out'), { outputs: ['out'] }));
    await plane.until(() => plane.log('job1.e1', 'stdout') === 'up\n', 'the task is up');

    await plane.down();
    await go();
    await eventually(() => journalled('job1.e1').phase === 'ended', 'the task ended');
    expect(plane.typesOf('job1.e1')).toEqual(['confirm', 'start']);
    await plane.up();

    expect(await plane.reported('job1.e1', 'succeed')).toMatchObject({ exitCode: 0, artifacts: [{ path: 'out' }] });
    expect(plane.log('job1.e1', 'stdout')).toBe('up\nend\n');
    expect(plane.typesOf('job1.e1').filter((type) => type === 'succeed')).toHaveLength(1);
  });

  it('A-47 sends of an output only what is missing, however often the line breaks', async () => {
    const wire = closing(await CuttingProxy.to(plane.listeningAt));
    await begin({ url: `http://127.0.0.1:${wire.port}` });
    const size = 8 * MIB;
    const writes = `head -c ${size} /dev/zero | tr '\\0' x > big`;
    plane.assign(someAssignment('job1.e1', untilGo('echo up', writes), { outputs: ['big'] }));
    await plane.until(() => plane.log('job1.e1', 'stdout') === 'up\n', 'it is up');
    wire.cutAfterSent(2 * MIB, 2 * MIB, 2 * MIB);
    await go();

    const { artifacts } = await plane.reported('job1.e1', 'succeed');
    expect(artifacts).toMatchObject([{ path: 'big', size }]);
    expect(wire.broken).toBe(3);
    expect(plane.uploaded).toBeLessThan(size + 3 * MIB);
    expect(plane.artifacts.get(artifacts[0]?.sha256 ?? '')?.length).toBe(size);
  });

  it('resumes logs where the server says after a 409', async () => {
    await begin();
    plane.assign(someAssignment('job1.e1', untilGo('echo first', 'echo second')));
    await plane.until(() => plane.log('job1.e1', 'stdout') === 'first\n', 'the first line');

    plane.forgetLogs = 3;
    await go();
    await plane.reported('job1.e1', 'succeed');

    expect(plane.log('job1.e1', 'stdout')).toBe('first\nsecond\n');
  });
});
