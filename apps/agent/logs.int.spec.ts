import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { taskFolder } from './runner/task-folder.js';
import { AgentWorld, own, running } from './testing/agent-world.js';
import { someAssignment } from './testing/assignments.js';
import { eventually } from './testing/eventually.js';

/* Tasks that write more than anyone wants to keep. */

const MIB = 2 ** 20;

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

type Stream = 'stdout' | 'stderr';

/** Numbers from 1 on, one a line: 108,894 bytes. */
const numbers = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join('');

const endOf = (stream: Stream): number => {
  const last = world.plane.logParts('job1.e1', stream).at(-1);
  return last ? last.begin + last.text.length : 0;
};

/** Whether all that came of a stream stands at the place that it has in what the task wrote, and its end is there. */
const expectPartsOf = (whole: string, stream: Stream = 'stdout'): void => {
  for (const { begin, text } of world.plane.logParts('job1.e1', stream)) {
    expect(text === whole.slice(begin, begin + text.length)).toBe(true);
  }
  expect(endOf(stream)).toBe(whole.length);
};

describe('E-05 a task that writes beyond the limit of its log', () => {
  it('has its first half there, what came in time, and the newest sixth at least, each byte at its place', async () => {
    await world.begin({ logLimit: 64 * 1024 });
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', 'seq 20000; echo last words >&2']));
    await world.plane.reported('job1.e1', 'succeed');

    expectPartsOf(numbers);
    const parts = world.plane.logParts('job1.e1', 'stdout');
    expect(parts[0]?.text.length).toBeGreaterThanOrEqual(32 * 1024);
    expect(parts.at(-1)?.text.length).toBeGreaterThanOrEqual(10 * 1024);
    expect(world.plane.log('job1.e1', 'stderr')).toBe('last words\n');
  });

  it('keeps all of it up to two thirds of the limit, each byte once', async () => {
    await world.begin({ logLimit: 64 * 1024 });
    const line = '0123456789abcdef'.repeat(64);
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', `for i in $(seq 42); do printf %s ${line}; done`]));
    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.log('job1.e1', 'stdout')).toBe(line.repeat(42));
  });

  it('shows its newest lines while it runs', async () => {
    await world.begin({ logLimit: 64 * 1024 });
    world.plane.assign(someAssignment('job1.e1', world.untilGo('seq 20000', 'echo more')));
    await world.plane.until(() => endOf('stdout') === numbers.length, 'the newest line came');
    expectPartsOf(numbers);

    await world.go();
    await world.plane.reported('job1.e1', 'succeed');
    expectPartsOf(`${numbers}more\n`);
  });

  it('is sent again from where a control plane that lost some of it goes on, and what is gone by then is told', async () => {
    await world.begin({ logLimit: 64 * 1024 });
    world.plane.assign(someAssignment('job1.e1', world.untilGo('seq 20000', 'echo more')));
    await world.plane.until(() => endOf('stdout') === numbers.length, 'the newest line came');

    world.plane.forgetLogs = 90_000;
    await world.go();
    await world.plane.reported('job1.e1', 'succeed');
    expectPartsOf(`${numbers}more\n`);
    expect(world.plane.log('job1.e1', 'stdout')).toMatch(/\n\d*\[\d+ left out\]/);
  });

  it('does not fill the disk, however quick it is, and what could not be sent in time is told as a gap', async () => {
    await world.begin({ logLimit: MIB });
    world.plane.assign(
      someAssignment('job1.e1', ['sh', '-c', 'yes 0123456789 & yes 0123456789 >&2 & sleep 87.001; wait']),
    );
    const parts = (stream: Stream) => world.plane.logParts('job1.e1', stream);
    const goesOn = (stream: Stream): boolean => parts(stream).length > 1 && endOf(stream) > 3 * MIB;
    await world.plane.until(() => goesOn('stdout') && goesOn('stderr'), 'newer parts of both came');

    expect(onDisk('job1.e1', 'stdout')).toBeLessThanOrEqual(MIB);
    expect(onDisk('job1.e1', 'stderr')).toBeLessThanOrEqual(MIB);
    world.plane.desire('job1.e1', 'stop');
    await world.plane.reported('job1.e1', 'fail');
    for (const { begin, text } of [...parts('stdout'), ...parts('stderr')]) {
      const whole = '0123456789\n'.repeat(Math.ceil(text.length / 11) + 1);
      expect(text === whole.slice(begin % 11, (begin % 11) + text.length)).toBe(true);
    }
    expect(keepers('job1.e1')).toEqual([]);
  });

  it('is bounded while no agent looks on, and the next one goes on over what was dropped meanwhile', async () => {
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
    expectPartsOf(`up\n${Array.from({ length: 150_000 }, (_, index) => `line ${index}\n`).join('')}`);
    expect(world.plane.logParts('job1.e1', 'stdout')).toHaveLength(2);
    expect(world.plane.logParts('job1.e1', 'stdout')[0]?.text).toHaveLength(MIB / 2);
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
