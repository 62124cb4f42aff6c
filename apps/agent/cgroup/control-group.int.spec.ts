import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemTimers } from '#kernel';
import { AgentWorld } from '../testing/agent-world.js';
import { someAssignment } from '../testing/assignments.js';
import { eventually } from '../testing/eventually.js';
import { ControlGroup } from './control-group.js';
import { ControlGroups } from './control-groups.js';
import { delegatedFolder } from './locate.js';

const MIB = 2 ** 20;

let base: string;

/** A folder with the files of a delegated group: what is written is read back, but no kernel heeds it. */
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'escalon-cgroup-'));
  writeFileSync(join(base, 'cgroup.controllers'), 'cpuset cpu io memory pids\n');
  writeFileSync(join(base, 'cgroup.procs'), '');
});

afterEach(() => rm(base, { recursive: true }));

const of = (executionId: string, file: string): string =>
  readFileSync(join(base, `task-${executionId}`, file), 'utf8').trim();

describe('a delegated group', () => {
  it('is divided: memory, processes and processor for each child', async () => {
    expect(await ControlGroups.open(base, systemTimers)).toHaveProperty('groups');
    expect(readFileSync(join(base, 'cgroup.subtree_control'), 'utf8')).toBe('+memory +pids +cpu');
  });

  it.each([
    ['cgroup.controllers', 'cpu io', 'does not delegate memory and pids'],
    ['cgroup.procs', '1\n2\n', 'holds other processes'],
  ])('is left alone when its %s says %j', async (file, text, why) => {
    writeFileSync(join(base, file), text);
    expect(await ControlGroups.open(base, systemTimers)).toMatchObject({
      why: expect.stringContaining(why) as unknown,
    });
  });

  it.each([
    [{ cpu: 0.5, hardCpu: false }, 'cpu.weight', '50'],
    [{ cpu: 1000, hardCpu: false }, 'cpu.weight', '10000'],
    [{ cpu: 0.001, hardCpu: false }, 'cpu.weight', '1'],
    [{ cpu: 1.5, hardCpu: true }, 'cpu.max', '150000 100000'],
    [{ cpu: 0.001, hardCpu: true }, 'cpu.max', '1000 100000'],
  ])('gives %j by %s %s', async (cpu, file, text) => {
    const group = new ControlGroup(join(base, 'task-job1.e1'), systemTimers);
    await group.create({ memory: 256 * MIB, processes: 100, ...cpu });
    expect(of('job1.e1', file)).toBe(text);
    expect(of('job1.e1', 'memory.max')).toBe(String(256 * MIB));
    expect(of('job1.e1', 'memory.swap.max')).toBe('0');
    expect(of('job1.e1', 'memory.oom.group')).toBe('1');
    expect(of('job1.e1', 'pids.max')).toBe('100');
  });

  it('tells what the kernel counted', () => {
    const group = new ControlGroup(join(base, 'task-job1.e1'), systemTimers);
    expect(group.usage()).toEqual({ peakMemory: undefined, cpuSeconds: undefined, oomKills: 0 });
    mkdirSync(group.folder);
    writeFileSync(join(group.folder, 'memory.peak'), '1000\n');
    writeFileSync(join(group.folder, 'memory.events'), 'low 0\nmax 7\noom 2\noom_kill 2\noom_group_kill 1\n');
    writeFileSync(join(group.folder, 'cpu.stat'), 'usage_usec 1500000\nuser_usec 1\n');
    expect(group.usage()).toEqual({ peakMemory: 1000, cpuSeconds: 1.5, oomKills: 2 });
  });
});

describe('an agent with a delegated group', () => {
  let world: AgentWorld;

  beforeEach(async () => {
    world = await AgentWorld.start();
  });

  afterEach(() => world.stop());

  it('starts each task inside a group of its own and believes what the kernel counted', async () => {
    await world.begin({ limits: { enforce: 'cgroup', cgroup: base, processes: 77 } });
    const group = join(base, 'task-job1.e1');
    // The kernel's part is played by the task: here nobody else would end it.
    const script = `echo 'oom_kill 1' > ${group}/memory.events; echo 300 > ${group}/memory.peak; echo last >&2; exit 137`;
    const contract = { cpu: 2, memory: 256, disk: 0, ioSlots: 0, gpus: [] };
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', script], {}, { contract }));

    expect(await world.plane.reported('job1.e1', 'fail')).toMatchObject({
      class: 'resource',
      code: 'out-of-memory',
      exitCode: 137,
      diagnostics: { stderr: ['last'], peakMemory: 300, memoryLimit: 256, enforcedBy: 'cgroup' },
    });
    expect(of('job1.e1', 'cgroup.procs')).toBe('0');
    expect(of('job1.e1', 'pids.max')).toBe('77');
    expect(of('job1.e1', 'cpu.weight')).toBe('200');
    expect(world.plane.enrolments[0]?.inventory.labels).toEqual({ limits: 'cgroup' });
  });

  it('does not start where groups are demanded and cannot be had', async () => {
    writeFileSync(join(base, 'cgroup.controllers'), '');
    const limits = { enforce: 'cgroup', cgroup: base } as const;
    await expect(world.begin({ limits })).rejects.toThrow(/limits.enforce is cgroup, but .* does not delegate memory/);
  });
});

/** A group of this machine's own hierarchy, which needs no controller to freeze and to kill; undefined where none can be made. */
const realGroup = (): ControlGroup | undefined => {
  const read = (file: string): string => readFileSync(file, 'utf8');
  try {
    const parent = delegatedFolder(read('/proc/self/cgroup'), read('/proc/self/mountinfo'));
    const group = new ControlGroup(join(parent ?? '/nowhere', `escalon-test-${process.pid}`), systemTimers);
    mkdirSync(group.folder);
    return group;
  } catch {
    return undefined;
  }
};

describe('the kernel of this machine', () => {
  it('freezes and kills a whole group at one stroke, or lets no agent make one', async () => {
    const group = realGroup();
    if (!group) return expect(await ControlGroups.open(undefined, systemTimers)).toHaveProperty('why');
    const script = `echo 0 > ${group.door}; (setsid sleep 87.101 &); exec sleep 87.102`;
    const child = spawn('sh', ['-c', script], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    const members = (): string[] => readFileSync(group.door, 'utf8').split('\n').filter(Boolean);
    await eventually(() => members().length === 2, 'both sleep in the group');

    await group.freeze();
    expect(readFileSync(join(group.folder, 'cgroup.events'), 'utf8')).toContain('frozen 1');
    await group.thaw();
    await eventually(() => readFileSync(join(group.folder, 'cgroup.events'), 'utf8').includes('frozen 0'), 'it thaws');
    await group.freeze();
    await group.kill();
    expect(await ended).toEqual([null, 'SIGKILL']);
    await group.remove();
    expect(readdirSync(join(group.folder, '..'))).not.toContain(`escalon-test-${process.pid}`);
  });
});
