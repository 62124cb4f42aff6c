import type { Contract } from '#contracts';
import { formatBytes } from '#contracts';
import { failure } from './ending.js';
import type { Failure } from './ending.js';

/** Who holds tasks to their contracts: the kernel's control groups, the agent that looks on, or nobody. */
export type Enforcement = 'cgroup' | 'watchdog' | 'none';

/** What a task may use at most. An absent one is not bounded here. */
export interface Limits {
  /** Bytes of memory, of all its processes together. */
  readonly memory?: number;
  /** Bytes on disk below its folder, inputs and logs included. */
  readonly disk?: number;
  /** Processes at a time. */
  readonly processes?: number;
}

/** What it uses now, as far as it was looked at. */
export type Usage = Limits;

/** A contract without disk names no quota: what the job did not ask for was not measured out either. */
export const limitsOf = ({ memory, disk }: Contract, processes: number, enforcement: Enforcement): Limits =>
  enforcement === 'none' ? {} : { memory, processes, ...(disk > 0 && { disk }) };

/** The failure of a task that uses more than it may; undefined while it keeps within its limits. */
export const exceeded = (limits: Limits, usage: Usage): Failure | undefined => {
  const { memory = 0, disk = 0, processes = 0 } = usage;
  if (limits.memory !== undefined && memory > limits.memory)
    return outOfMemory(memory, limits.memory, { enforcedBy: 'watchdog' });
  if (limits.disk !== undefined && disk > limits.disk) return diskFull(disk, limits.disk);
  if (limits.processes !== undefined && processes > limits.processes)
    return failure('resource', 'too-many-processes', `${processes} processes, ${limits.processes} are allowed`, {
      processes,
      processLimit: limits.processes,
    });
  return undefined;
};

/** `peak` and `limit` in bytes. */
export const outOfMemory = (peak: number, limit: number, more: Readonly<Record<string, unknown>> = {}): Failure =>
  failure(
    'resource',
    'out-of-memory',
    `the task used ${formatBytes(peak)} of memory, ${formatBytes(limit)} are allowed`,
    {
      peakMemory: peak,
      memoryLimit: limit,
      ...more,
    },
  );

const diskFull = (disk: number, diskLimit: number): Failure =>
  failure(
    'resource',
    'disk-full',
    `the task's files take ${formatBytes(disk)}, ${formatBytes(diskLimit)} are allowed`,
    {
      disk,
      diskLimit,
    },
  );
