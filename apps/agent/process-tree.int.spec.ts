import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { limitMark, MARKED_VARIABLE } from './runner/task-mark.js';
import { taskFolder } from './runner/task-folder.js';
import { AgentWorld, own, running } from './testing/agent-world.js';
import { someAssignment } from './testing/assignments.js';
import { eventually } from './testing/eventually.js';

/* What a task leaves behind to outlive it: each way out that a process has, tried on real ones. */

let world: AgentWorld;

beforeEach(async () => {
  world = await AgentWorld.start();
});

afterEach(() => world.stop());

/** Forks twice, the parent between them ending at once, so that nothing but the mark leads back to the task. */
const daemon = (how: string): string => `(${how} &)`;
const ESCAPES: readonly [string, string][] = [
  ['a child that ignores SIGTERM', `sh -c "trap '' TERM; sleep ${own('81.001')}; sleep ${own('81.002')}" &`],
  ['a grandchild', `sh -c "sh -c 'sleep ${own('81.003')}; true'; true" &`],
  ['a child in a session of its own', `setsid sleep ${own('81.004')} &`],
  ['a daemon', daemon(`setsid sleep ${own('81.005')}`)],
  ['a daemon that cleared its environment', daemon(`env -i setsid sleep ${own('81.006')}`)],
  [
    'a daemon that cleared everything',
    daemon(`cd /; exec env -i setsid /bin/sh -c "exec sleep ${own('81.007')}" </dev/null >/dev/null 2>&1`),
  ],
];
const SLEEPERS = ['81.001', '81.003', '81.004', '81.005', '81.006', '81.007'].map(own);

const alive = (): string[] => [...SLEEPERS, own('81.002')].filter((word) => running(word).length > 0);

const escaped = async (executionId: string, after: string): Promise<void> => {
  const script = `${ESCAPES.map(([, how]) => how).join('\n')}\necho up; ${after}`;
  world.plane.assign(someAssignment(executionId, ['sh', '-c', script]));
  await eventually(() => SLEEPERS.every((word) => running(word).length > 0), `all of ${SLEEPERS.join()} run`);
};

describe(`everything that a task started ends with it: ${ESCAPES.map(([name]) => name).join(', ')}`, () => {
  it('when it is stopped', async () => {
    await world.begin();
    await escaped('job1.e1', 'sleep 81.009');
    world.plane.desire('job1.e1', 'stop');

    expect(await world.plane.reported('job1.e1', 'fail')).toMatchObject({ class: 'cancelled', code: 'stopped' });
    expect(alive()).toEqual([]);
  });

  it('when it ends by itself', async () => {
    await world.begin();
    await escaped('job1.e1', `while [ ! -e '${join(world.data, 'go')}' ]; do sleep 0.02; done`);
    await world.go();

    await world.plane.reported('job1.e1', 'succeed');
    expect(alive()).toEqual([]);
  });

  it('when the server dropped it while the agent was away', async () => {
    const first = await world.begin();
    await escaped('job1.e1', 'sleep 81.009');
    await first.stop({ detach: true });
    world.plane.unassign('job1.e1');
    await world.begin();

    await world.plane.reported('job1.e1', 'fail');
    expect(alive()).toEqual([]);
  });

  it('and leaves a neighbour alone', async () => {
    await world.begin();
    world.plane.assign(someAssignment('job2.e1', world.untilGo(`(setsid sleep ${own('82.001')} &)`, 'true')));
    await escaped('job1.e1', 'sleep 81.009');
    world.plane.desire('job1.e1', 'stop');
    await world.plane.reported('job1.e1', 'fail');

    expect(running(own('82.001'))).toHaveLength(1);
    await world.go();
    await world.plane.reported('job2.e1', 'succeed');
  });
});

describe('a paused task', () => {
  it('stands still with all that it started, and goes on with the same contract', async () => {
    await world.begin();
    await escaped('job1.e1', world.untilGo('true', 'true').at(-1) ?? '');
    world.plane.desire('job1.e1', 'pause');
    await world.plane.reported('job1.e1', 'pause');
    expect(SLEEPERS.flatMap(running).map(({ state }) => state)).toEqual(SLEEPERS.map(() => 'T'));

    world.plane.desire('job1.e1', 'run');
    await world.plane.reported('job1.e1', 'resume');
    await eventually(() => SLEEPERS.flatMap(running).every(({ state }) => state === 'S'), 'all go on');
    await world.go();
    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'pause', 'resume', 'succeed']);
  });

  it('stands still also when it starts one program after the other', async () => {
    await world.begin();
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', 'echo up; while :; do /bin/true; done']));
    await world.plane.reported('job1.e1', 'start');
    const told = (type: string): number => world.plane.typesOf('job1.e1').filter((each) => each === type).length;
    for (let count = 1; count <= 8; count += 1) {
      world.plane.desire('job1.e1', 'pause');
      await world.plane.until(() => told('pause') === count, `pause ${count}`);
      world.plane.desire('job1.e1', 'run');
      await world.plane.until(() => told('resume') === count, `resume ${count}`);
    }
    world.plane.desire('job1.e1', 'stop');
    expect(await world.plane.reported('job1.e1', 'fail')).toMatchObject({ class: 'cancelled' });
  });

  it('stays paused over a restart of its agent, and is told again where that was not heard', async () => {
    const first = await world.begin();
    await escaped('job1.e1', 'sleep 81.009');
    world.plane.desire('job1.e1', 'pause');
    await world.plane.reported('job1.e1', 'pause');
    await first.stop({ detach: true });
    world.plane.assign({ ...someAssignment('job1.e1', ['true']), desired: 'pause', state: 'running' });
    await world.begin();
    await world.plane.until(() => world.plane.typesOf('job1.e1').length === 4, 'it is told again');

    expect(world.plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'pause', 'pause']);
    expect(SLEEPERS.flatMap(running).every(({ state }) => state === 'T')).toBe(true);
    world.plane.desire('job1.e1', 'stop');
    expect(await world.plane.reported('job1.e1', 'fail')).toMatchObject({ class: 'cancelled' });
    expect(alive()).toEqual([]);
  });

  it('is resumed by the next agent when its job was resumed meanwhile', async () => {
    const first = await world.begin();
    await escaped('job1.e1', world.untilGo('true', 'true').at(-1) ?? '');
    world.plane.desire('job1.e1', 'pause');
    await world.plane.reported('job1.e1', 'pause');
    await first.stop({ detach: true });
    await world.go();
    world.plane.assign({ ...someAssignment('job1.e1', ['true']), desired: 'run', state: 'paused' });
    await world.begin();

    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'pause', 'resume', 'succeed']);
  });

  it('does not use up its time: neither its timeout nor its wall time', async () => {
    await world.begin();
    world.plane.assign(someAssignment('job1.e1', world.untilGo('echo up', 'true'), { runTimeout: 8 }));
    await world.plane.until(() => world.plane.log('job1.e1', 'stdout') === 'up\n', 'the task is up');
    world.plane.desire('job1.e1', 'pause');
    await world.plane.reported('job1.e1', 'pause');
    // A neighbour that takes longer than the timeout of the paused one is the clock.
    world.plane.assign(someAssignment('job2.e1', ['sleep', '8.1']));
    await world.plane.reported('job2.e1', 'succeed');
    await world.go();
    world.plane.desire('job1.e1', 'run');

    const { consumption } = await world.plane.reported('job1.e1', 'succeed');
    expect(consumption.wallSeconds).toBeLessThan(8);
  });

  it('gives what it holds to nobody', async () => {
    await world.begin();
    const contract = { cpu: 3, memory: 2 ** 26, disk: 0, ioSlots: 0, gpus: [] };
    world.plane.assign(someAssignment('job1.e1', ['sleep', '83.001'], {}, { contract }));
    await world.plane.reported('job1.e1', 'start');
    world.plane.desire('job1.e1', 'pause');
    await world.plane.reported('job1.e1', 'pause');
    const confirmBy = new Date(Date.now() + 1_200).toISOString();
    world.plane.assign(someAssignment('job2.e1', ['true'], {}, { contract, confirmBy }));

    const { reason } = await world.plane.reported('job2.e1', 'decline');
    expect(reason).toMatch(/^cpu: asked 3, 1 of 4 free; lane cpu /);
  });
});

describe('at its start the agent ends what no execution accounts for', () => {
  it.each(['by their environment', 'by their limit'])('processes, known %s, and their folder', async (how) => {
    const folder = taskFolder(world.data, 'job9.e1');
    mkdirSync(folder.work, { recursive: true });
    writeFileSync(join(folder.work, 'left'), 'over');
    const env = how === 'by their environment' ? { [MARKED_VARIABLE]: folder.progress } : {};
    const mark = how === 'by their limit' ? `ulimit -m ${limitMark(folder)}; ` : '';
    const orphan = spawn('/bin/sh', ['-c', `${mark}exec sleep ${own('84.001')}`], { env, detached: true });
    await once(orphan, 'spawn');
    await eventually(() => running(own('84.001')).length === 1, 'the orphan runs');

    await world.begin();

    expect(running(own('84.001'))).toEqual([]);
    expect(existsSync(folder.root)).toBe(false);
  });
});
