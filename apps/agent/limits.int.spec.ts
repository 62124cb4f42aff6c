import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AgentWorld, own, running } from './testing/agent-world.js';
import { someAssignment } from './testing/assignments.js';

/* Tasks that take more than they asked for, on real processes, beside neighbours that must not notice. */

const MIB = 2 ** 20;

let world: AgentWorld;

beforeEach(async () => {
  world = await AgentWorld.start();
});

afterEach(() => world.stop());

const contract = (change: object = {}) => ({
  contract: { cpu: 0.5, memory: 256 * MIB, disk: 0, ioSlots: 0, gpus: [], ...change },
});

/** Fills so much memory and keeps it. */
const fills = (mib: number): string[] => [
  'node',
  '-e',
  `const kept = []; for (let i = 0; i < ${mib}; i += 16) kept.push(Buffer.alloc(16 * 1048576, 1));
   console.log('full'); setInterval(() => kept.length, 1000);`,
];

describe('A-44 a task that takes more memory than its contract', () => {
  it('is ended as out of memory with its peak, and its neighbour finishes untouched', async () => {
    const agent = await world.begin();
    world.plane.assign(someAssignment('job2.e1', world.untilGo('echo up', 'echo done'), {}, contract()));
    await world.plane.reported('job2.e1', 'start');
    world.plane.assign(someAssignment('job1.e1', fills(1024), { outputs: ['left'] }, contract()));

    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({ class: 'resource', code: 'out-of-memory', exitCode: 137 });
    expect(failed.message).toMatch(/^the task used \S+ [MG]iB of memory, 256 MiB are allowed$/);
    expect(failed.diagnostics).toMatchObject({ memoryLimit: 256 * MIB });
    expect(failed.diagnostics?.['peakMemory']).toBeGreaterThan(256 * MIB);
    expect(failed.consumption?.maxMemory).toBeGreaterThan(256 * MIB);

    await world.go();
    await world.plane.reported('job2.e1', 'succeed');
    expect(world.plane.log('job2.e1', 'stdout')).toBe('up\ndone\n');
    expect(world.plane.enrolments[0]?.inventory.labels).toEqual({ limits: 'watchdog' });
    await agent.stop();
  });

  it('counts all its processes together', async () => {
    await world.begin();
    const one = `node -e "const kept = Buffer.alloc(120 * 1048576, 1); setInterval(() => kept.length, 1000)"`;
    const script = `for i in 1 2 3; do (setsid ${one} &); done; sleep ${own('85.001')}`;
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', script], {}, contract()));

    expect(await world.plane.reported('job1.e1', 'fail')).toMatchObject({ class: 'resource', code: 'out-of-memory' });
    expect(running(own('85.001'))).toEqual([]);
  });

  it('counts memory that they share once', async () => {
    await world.begin();
    // Workers forked from a parent of 120 MiB: four times as large by resident size, not a page more in truth.
    const script = `
import os, time, mmap
kept = mmap.mmap(-1, 120 * 1048576)
kept.write(b'x' * (120 * 1048576))
for _ in range(3):
    if os.fork() == 0:
        sum(kept[i] for i in range(0, len(kept), 4096)); time.sleep(1.5); os._exit(0)
for _ in range(3): os.wait()
`;
    world.plane.assign(someAssignment('job1.e1', ['python3', '-c', script], {}, contract()));

    expect(await world.plane.reported('job1.e1', 'succeed')).toMatchObject({ exitCode: 0 });
  });

  it('is left alone where the owner wants no limits', async () => {
    await world.begin({ limits: { enforce: 'none' } });
    const command = ['node', '-e', 'const kept = Buffer.alloc(400 * 1048576, 1); setTimeout(() => kept.length, 900)'];
    world.plane.assign(someAssignment('job1.e1', command, {}, contract()));

    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.enrolments[0]?.inventory.labels).toEqual({ limits: 'none' });
  });
});

describe('A-44 a task that takes more disk than its contract', () => {
  const disk = contract({ disk: 4 * MIB });

  it.each([
    ['many files', 'i=0; while :; do i=$((i+1)); head -c 200000 /dev/zero > f$i || exit 1; sleep 0.01; done'],
    ['a file that grows', 'exec dd if=/dev/zero of=big bs=64k 2>/dev/null'],
    ['output without end', 'yes'],
  ])('%s', async (_, script) => {
    await world.begin();
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', script], {}, disk));

    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({ class: 'resource', code: 'disk-full' });
    expect(failed.consumption?.maxDisk).toBeGreaterThan(3 * MIB);
  });

  it('a program that goes on after it was told that its file is too large', async () => {
    await world.begin();
    const script = `
with open('big', 'wb') as file:
    for _ in range(64): file.write(b'x' * 1048576); file.flush()
`;
    world.plane.assign(someAssignment('job1.e1', ['python3', '-c', script], {}, disk));
    expect(await world.plane.reported('job1.e1', 'fail')).toMatchObject({ class: 'resource', code: 'disk-full' });
  });
});

describe('a task that makes processes without end', () => {
  it('is ended, and nothing of it is left', async () => {
    await world.begin({ limits: { processes: 40 } });
    const sleep = `sleep ${own('86.001')}`;
    const script = `i=0; while [ $i -lt 300 ]; do i=$((i+1)); (setsid ${sleep} &); done; ${sleep}`;
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', script], {}, contract()));

    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({ class: 'resource', code: 'too-many-processes' });
    expect(running(own('86.001'))).toEqual([]);
  });
});
