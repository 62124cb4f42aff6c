import { describe, expect, it } from '@jest/globals';
import { consumptionOf, Meter } from '../metering/meter.js';
import { parseOomKills } from './oom.js';
import { classifyExit } from './outcome.js';
import { identityOf, isAlive, isReused, NO_PROCESS } from './process-identity.js';
import { parseStat, treeOf } from './process-table.js';
import type { ProcessInfo } from './process-table.js';
import { parseExit } from './supervisor.js';

describe('A-44 what an exit means', () => {
  const classOf = (code: number, stderrTail: string[] = [], oomKills = 0): string | undefined => {
    const failure = classifyExit({ code, cpuSeconds: 0 }, { stderrTail, oomKills });
    return failure && `${failure.class}/${failure.code}`;
  };

  it.each([
    [0, [], 0, undefined],
    [0, ['No space left on device'], 1, undefined],
    [1, [], 0, 'application/exit-code'],
    [127, [], 0, 'application/exit-code'],
    [139, [], 0, 'application/signal'],
    [137, [], 0, 'application/signal'],
    [137, [], 1, 'resource/out-of-memory'],
    [200, [], 0, 'application/exit-code'],
    [
      134,
      ['FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
      0,
      'resource/out-of-memory',
    ],
    [1, ['Traceback', 'MemoryError'], 0, 'resource/out-of-memory'],
    [1, ['OSError: [Errno 28] No space left on device'], 0, 'resource/disk-full'],
  ])('%d with %j and %d kills: %s', (code, stderr, kills, expected) =>
    expect(classOf(code, stderr, kills)).toBe(expected),
  );

  it('A-43 names the signal, and what the kernel killed meanwhile', () => {
    const failure = classifyExit({ code: 143, cpuSeconds: 0 }, { stderrTail: ['bye'], oomKills: 2 });
    expect(failure).toMatchObject({ message: 'the task was ended by SIGTERM', diagnostics: { oomKills: 2 } });
  });

  it.each([
    [153, [], true, 'resource/disk-full'],
    [153, [], false, 'application/signal'],
    [1, ['OSError: [Errno 27] File too large'], true, 'resource/disk-full'],
    [1, ['curl: File too large'], false, 'application/exit-code'],
  ])('%d with %j, its files limited: %s: %s', (code, stderrTail, quota, expected) => {
    const failure = classifyExit({ code, cpuSeconds: 0 }, { stderrTail, oomKills: 0, quota });
    expect(failure && `${failure.class}/${failure.code}`).toBe(expected);
  });

  it('reads the kernel’s count', () => expect(parseOomKills('pgfault 1\noom_kill 3\n')).toBe(3));
});

describe('the exit file', () => {
  it('holds status and times of the children, as dash and bash write them', () => {
    expect(parseExit('3\n0m0.00s 0m0.01s\n1m2.50s 0m0.25s\n')).toEqual({ code: 3, cpuSeconds: 62.75 });
    expect(parseExit('0\n0m0.000000s 0m0.000000s\n0m1.000000s 0m0.500000s\n')).toEqual({ code: 0, cpuSeconds: 1.5 });
  });

  it.each(['', '\n', 'x\n'])('%j is none', (text) => expect(parseExit(text)).toBeUndefined());
});

const stat = (pid: number, parent: number, group: number, session: number, ticks = 10, memory = 100): ProcessInfo => ({
  pid,
  state: 'S',
  parent,
  group,
  session,
  cpuTicks: ticks,
  startTime: 1,
  memory,
});

describe('the process table', () => {
  it('parses a line whose name holds spaces and brackets', () => {
    const fields = 'S 7 42 42 0 -1 0 0 0 0 0 150 50 9 9 20 0 1 0 98765 1000000 25 1844';
    expect(parseStat(`42 (a) b (c) ${fields}`)).toEqual({
      pid: 42,
      state: 'S',
      parent: 7,
      group: 42,
      session: 42,
      cpuTicks: 200,
      startTime: 98765,
      memory: 25 * 4096,
    });
    expect(parseStat('')).toBeUndefined();
  });

  it('finds a task’s tree, with descendants that opened a session of their own', () => {
    const table = [
      stat(1, 0, 1, 1),
      stat(10, 1, 10, 10),
      stat(11, 10, 10, 10),
      stat(12, 11, 12, 12),
      stat(13, 12, 12, 12),
    ];
    expect(treeOf([...table, stat(20, 1, 20, 20)], 10).map(({ pid }) => pid)).toEqual([10, 11, 12, 13]);
  });

  it('knows a process for good, not by its number alone', () => {
    const self = identityOf(process.pid);
    expect(isAlive(self)).toBe(true);
    expect(isReused(self)).toBe(false);
    expect(isAlive({ ...self, bootId: 'another boot' })).toBe(false);
    expect(isReused({ ...self, startTime: self.startTime + 1 })).toBe(true);
    expect(isAlive(NO_PROCESS)).toBe(false);
    expect(isReused(NO_PROCESS)).toBe(true);
  });
});

describe('A-48 metering', () => {
  it('adds up every process seen and keeps the peak of the tree', () => {
    const meter = new Meter();
    const peak = (): number => 0;
    meter.sample([stat(10, 1, 10, 10, 5, 100), stat(11, 10, 10, 10, 100, 300)], peak);
    meter.sample([stat(10, 1, 10, 10, 7, 100), stat(12, 10, 10, 10, 50, 50)], peak);
    meter.received(10);
    meter.sawDisk(70);
    meter.sawDisk(60);
    expect(meter.measured()).toEqual({ cpuSeconds: 1.57, maxMemory: 400, maxDisk: 70, bytesIn: 10, bytesOut: 0 });
  });

  it('goes on from what an earlier agent measured', () => {
    const meter = new Meter({ cpuSeconds: 2, maxMemory: 900, maxDisk: 5, bytesIn: 1, bytesOut: 2 });
    meter.sample([stat(10, 1, 10, 10, 100, 100)], () => 0);
    expect(meter.measured()).toMatchObject({ cpuSeconds: 3, maxMemory: 900, bytesIn: 1, bytesOut: 2 });
  });

  it('takes the larger count of CPU and charges GPUs by their share', () => {
    const measured = { cpuSeconds: 1, maxMemory: 1, maxDisk: 1, bytesIn: 1, bytesOut: 1 };
    const consumption = consumptionOf(measured, 10, 1.5, [{ share: 0.5 }, { share: 1 }]);
    expect(consumption).toMatchObject({ cpuSeconds: 1.5, wallSeconds: 10, gpuSeconds: 15 });
  });
});
