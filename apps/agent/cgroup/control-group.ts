import { readFileSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Timers } from '#kernel';
import { errorCode } from '../client/errors.js';
import { wait } from '../client/wait.js';

/** What the kernel holds a group to. Memory in bytes, `cpu` in cores. */
export interface GroupLimits {
  readonly memory: number;
  readonly processes: number;
  readonly cpu: number;
  /** Whether `cpu` is a ceiling; else it is a share, which counts only while the machine has no core to spare. */
  readonly hardCpu: boolean;
}

/** What the kernel counted. Absent where it does not tell. */
export interface GroupUsage {
  /** Bytes. */
  readonly peakMemory: number | undefined;
  readonly cpuSeconds: number | undefined;
  /** How many processes were ended for want of memory. */
  readonly oomKills: number;
}

/** Microseconds in which a ceiling of CPU time is counted out. */
const CPU_PERIOD = 100_000;
/** The weight of one core; a group that nobody weighs has this. */
const CORE_WEIGHT = 100;
const ROUNDS = 250;

/**
 * One control group of version 2, for one execution: the folder through which the kernel is told. What is started in it
 * can leave it only with privilege, so to freeze or to kill it is to freeze or kill all of the task.
 */
export class ControlGroup {
  constructor(
    readonly folder: string,
    private readonly timers: Timers,
  ) {}

  /** The file that takes the number of a process that is to enter; 0 is the one that writes. */
  get door(): string {
    return join(this.folder, 'cgroup.procs');
  }

  async create(limits: GroupLimits): Promise<void> {
    await mkdir(this.folder).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
    await this.write('memory.max', String(limits.memory));
    await this.write('memory.oom.group', '1');
    await this.write('pids.max', String(limits.processes));
    // Not there on a kernel without swap accounting, or where the processor is not delegated.
    await this.tryWrite('memory.swap.max', '0');
    await (limits.hardCpu
      ? this.tryWrite('cpu.max', `${Math.max(1_000, Math.round(limits.cpu * CPU_PERIOD))} ${CPU_PERIOD}`)
      : this.tryWrite('cpu.weight', String(Math.min(10_000, Math.max(1, Math.round(limits.cpu * CORE_WEIGHT))))));
  }

  /** Resolves when every process stands still. */
  async freeze(): Promise<void> {
    await this.write('cgroup.freeze', '1');
    for (let round = 0; round < ROUNDS && !this.isFrozen(); round += 1) await wait(this.timers, 20);
  }

  thaw(): Promise<void> {
    return this.tryWrite('cgroup.freeze', '0');
  }

  /** Kills all at one stroke, frozen or not. Older kernels (before 5.14) do not know how; their processes are killed one by one. */
  kill(): Promise<void> {
    return this.tryWrite('cgroup.kill', '1');
  }

  usage(): GroupUsage {
    const cpu = this.number('cpu.stat', /^usage_usec (\d+)$/m);
    return {
      peakMemory: this.number('memory.peak', /^(\d+)$/m),
      cpuSeconds: cpu === undefined ? undefined : cpu / 1e6,
      oomKills: this.number('memory.events', /^oom_kill (\d+)$/m) ?? 0,
    };
  }

  /** Removes the group once it is empty; the kernel may need a moment after the last process. */
  async remove(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      try {
        await rmdir(this.folder);
        return;
      } catch (error) {
        if (errorCode(error) !== 'EBUSY') return;
        await wait(this.timers, 20);
      }
    }
  }

  private isFrozen(): boolean {
    return this.number('cgroup.events', /^frozen (\d+)$/m) === 1;
  }

  private number(file: string, form: RegExp): number | undefined {
    try {
      const match = form.exec(readFileSync(join(this.folder, file), 'utf8'));
      return match?.[1] === undefined ? undefined : Number(match[1]);
    } catch {
      return undefined;
    }
  }

  private write(file: string, text: string): Promise<void> {
    return writeFile(join(this.folder, file), text);
  }

  private tryWrite(file: string, text: string): Promise<void> {
    return this.write(file, text).catch(() => undefined);
  }
}

/** The words of a file of the interface, as of `cgroup.controllers`; empty when it is not there. */
export const wordsOf = async (file: string): Promise<string[]> =>
  (await readFile(file, 'utf8').catch(() => '')).split(/\s+/).filter((word) => word !== '');
