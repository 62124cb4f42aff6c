import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Limits that a container or service manager put on this process; undefined where there is none. */
export interface CgroupLimits {
  /** Cores. */
  readonly cpu: number | undefined;
  /** Bytes. */
  readonly memory: number | undefined;
}

type Read = (path: string) => string | undefined;

/** More than any machine has: how version 1 says "no limit". */
const NO_LIMIT = 2 ** 60;

/** `quota period` in microseconds, `max` for none (version 2's `cpu.max`). */
export const parseCpuMax = (text: string): number | undefined => {
  const [quota, period] = text.trim().split(/\s+/).map(Number);
  return quota !== undefined && period !== undefined && quota > 0 && period > 0 ? quota / period : undefined;
};

export const parseLimit = (text: string): number | undefined => {
  const bytes = Number(text.trim());
  return bytes > 0 && bytes < NO_LIMIT ? bytes : undefined;
};

/** Folders from a process's own group up to the root: a limit anywhere on the way holds. */
const upwards = (root: string, path: string): string[] => {
  const folders = [join(root, path)];
  for (let folder = path; folder !== '/' && folder !== '.';) {
    folder = dirname(folder);
    folders.push(join(root, folder));
  }
  return folders;
};

const least = (values: readonly (number | undefined)[]): number | undefined =>
  values.reduce(
    (best, value) => (value !== undefined && !(best !== undefined && best <= value) ? value : best),
    undefined,
  );

/** Reads both cgroup versions, the strictest limit on the way up counting. */
export const cgroupLimits = (read: Read = readText): CgroupLimits => {
  const groups = (read('/proc/self/cgroup') ?? '').split('\n').map((line) => line.split(':'));
  const of = (controller: string): string | undefined =>
    groups.find(([, names]) => names?.split(',').includes(controller))?.[2];
  const numbers = (folders: readonly string[], file: string, parse: (text: string) => number | undefined) =>
    folders.map((folder) => {
      const text = read(join(folder, file));
      return text === undefined ? undefined : parse(text);
    });
  const unified = upwards('/sys/fs/cgroup', groups.find(([id]) => id === '0')?.[2] ?? '/');
  const cpu1 = upwards('/sys/fs/cgroup/cpu', of('cpu') ?? '/');
  const memory1 = upwards('/sys/fs/cgroup/memory', of('memory') ?? '/');
  const quotas = cpu1.map((folder) => {
    const quota = read(join(folder, 'cpu.cfs_quota_us'));
    return quota === undefined
      ? undefined
      : parseCpuMax(`${quota.trim()} ${read(join(folder, 'cpu.cfs_period_us')) ?? ''}`);
  });
  return {
    cpu: least([...numbers(unified, 'cpu.max', parseCpuMax), ...quotas]),
    memory: least([
      ...numbers(unified, 'memory.max', parseLimit),
      ...numbers(memory1, 'memory.limit_in_bytes', parseLimit),
    ]),
  };
};

const readText: Read = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};
