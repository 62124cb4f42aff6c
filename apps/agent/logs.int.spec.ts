import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { taskFolder } from './runner/task-folder.js';
import { AgentWorld, own, running } from './testing/agent-world.js';
import { someAssignment } from './testing/assignments.js';
import { eventually } from './testing/eventually.js';

/* Tasks that write more than anyone wants to keep. */

const MIB = 2 ** 20;
const HELD_BACK = '\n[log: its limit is reached; the newest part follows when the task has ended]\n';

let world: AgentWorld;

beforeEach(async () => {
  world = await AgentWorld.start();
});

afterEach(() => world.stop());

/** Processes that were told where to keep a stream of the execution. */
const keepers = (executionId: string) =>
  (['stdout', 'stderr'] as const).flatMap((stream) => running(taskFolder(world.data, executionId)[stream]));

/** Bytes on disk of one stream of an execution. */
const onDisk = (executionId: string, stream: string): number => {
  const folder = join(world.data, 'tasks', executionId);
  const size = (name: string): number => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .filter((name) => name === stream || name.startsWith(`${stream}.`))
    .reduce((sum, name) => sum + size(name), 0);
};

describe('E-05 a task that writes beyond the limit of its log', () => {
  it('keeps the first half and the newest sixth at least, and a line in between tells what is missing', async () => {
    await world.begin({ logLimit: 64 * 1024 });
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', 'seq 20000; echo last words >&2']));
    await world.plane.reported('job1.e1', 'succeed');

    const whole = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join('');
    const log = world.plane.log('job1.e1', 'stdout');
    const [first = '', rest = ''] = log.split(HELD_BACK);
    const [, kib, bytes, newest = ''] =
      /^\[log: (\S+ KiB) \((\d+) bytes\) are left out here\]\n([^]*)$/.exec(rest) ?? [];
    expect(first).toBe(whole.slice(0, 32 * 1024));
    expect(kib).toMatch(/^\d+(\.\d+)? KiB$/);
    expect(newest).toBe(whole.slice(first.length + Number(bytes)));
    expect(newest.length).toBeGreaterThanOrEqual(10 * 1024);
    expect(first.length + newest.length).toBeLessThanOrEqual(64 * 1024);
    expect(world.plane.log('job1.e1', 'stderr')).toBe('last words\n');
  });

  it('keeps all of it up to two thirds of the limit, each byte once', async () => {
    await world.begin({ logLimit: 64 * 1024 });
    const line = '0123456789abcdef'.repeat(64);
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', `for i in $(seq 42); do printf %s ${line}; done`]));
    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.log('job1.e1', 'stdout')).toBe(line.repeat(42));
  });

  it('does not fill the disk, however quick it is, and shows while it runs that there is no more to see', async () => {
    await world.begin({ logLimit: MIB });
    world.plane.assign(
      someAssignment('job1.e1', ['sh', '-c', 'yes 0123456789 & yes 0123456789 >&2 & sleep 87.001; wait']),
    );
    const cut = (stream: 'stdout' | 'stderr'): boolean => world.plane.log('job1.e1', stream).endsWith(HELD_BACK);
    await world.plane.until(() => cut('stdout') && cut('stderr'), 'both are cut');

    expect(onDisk('job1.e1', 'stdout')).toBeLessThanOrEqual(MIB);
    expect(onDisk('job1.e1', 'stderr')).toBeLessThanOrEqual(MIB);
    expect(world.plane.log('job1.e1', 'stdout').length).toBe(MIB / 2 + HELD_BACK.length);

    world.plane.desire('job1.e1', 'stop');
    await world.plane.reported('job1.e1', 'fail');
    expect(world.plane.log('job1.e1', 'stdout').length).toBeLessThanOrEqual(MIB + 200);
    expect(keepers('job1.e1')).toEqual([]);
  });

  it('is bounded while no agent looks on, and its log is read to the end by the next one', async () => {
    const first = await world.begin({ logLimit: MIB });
    const writes = `node -e "for (let i = 0; i < 150000; i++) process.stdout.write('line ' + i + '\\n')"`;
    world.plane.assign(someAssignment('job1.e1', world.untilGo('echo up', `${writes}; touch '${world.data}/done'`)));
    await world.plane.until(() => world.plane.log('job1.e1', 'stdout') === 'up\n', 'it is up');
    await first.stop({ detach: true });
    await world.go();
    await eventually(() => existsSync(join(world.data, 'done')), 'it has written');
    expect(onDisk('job1.e1', 'stdout')).toBeLessThanOrEqual(MIB);

    await world.begin({ logLimit: MIB });
    await world.plane.reported('job1.e1', 'succeed');
    const log = world.plane.log('job1.e1', 'stdout');
    expect(log.startsWith('up\nline 0\nline 1\n')).toBe(true);
    expect(log).toContain(HELD_BACK);
    expect(log.endsWith('line 149998\nline 149999\n')).toBe(true);
  });

  it('is told apart by its newest words when it fails', async () => {
    await world.begin({ logLimit: 64 * 1024 });
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', 'seq 20000 >&2; echo why >&2; exit 3']));
    const failed = await world.plane.reported('job1.e1', 'fail');
    expect((failed.diagnostics?.['stderr'] as string[]).slice(-2)).toEqual(['20000', 'why']);
  });

  it('tells its newest progress, passing over what nobody could read in time', async () => {
    await world.begin({ logLimit: MIB });
    const script = 'yes 0123456789 | head -c 4400000; echo "::progress 0.75 late"';
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', script]));
    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.reportsOf('job1.e1').findLast(({ type }) => type === 'progress')).toMatchObject({
      fraction: 0.75,
    });
  });
});

describe('the pipes of a task', () => {
  it('can be opened again by their names, and nothing of them is left', async () => {
    await world.begin();
    world.plane.assign(
      someAssignment('job1.e1', ['sh', '-c', 'echo one; echo two > /dev/stdout; echo three > /dev/stderr']),
    );
    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.log('job1.e1', 'stdout')).toBe('one\ntwo\n');
    expect(world.plane.log('job1.e1', 'stderr')).toBe('three\n');
    expect(keepers('job1.e1')).toEqual([]);
  });

  it('do not keep a task from ending whose child holds them open', async () => {
    await world.begin();
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', `setsid sleep ${own('88.001')} & echo gone`]));
    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.log('job1.e1', 'stdout')).toBe('gone\n');
    expect(running(own('88.001'))).toEqual([]);
  });

  it('tell in the failure why the supervisor could not begin', async () => {
    await world.begin();
    const folder = join(world.data, 'tasks', 'job1.e1');
    world.plane.assign(someAssignment('job1.e1', ['true'], {}, { desired: 'pause' }));
    await world.plane.reported('job1.e1', 'confirm');
    await eventually(() => existsSync(join(folder, 'tmp')), 'the folder is there');
    mkdirSync(join(folder, 'stdout.pipe'));
    world.plane.desire('job1.e1', 'run');
    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({ class: 'infrastructure', code: 'supervisor-killed' });
    expect(failed.message).toMatch(/^the task did not start: .*stdout\.pipe.*File exists/);
  });
});
