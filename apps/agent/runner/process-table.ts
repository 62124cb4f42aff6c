import { readdirSync, readFileSync } from 'node:fs';

/** One line of the machine's process table. CPU in clock ticks, `startTime` in ticks since boot, `memory` in bytes. */
export interface ProcessInfo {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly cpuTicks: number;
  readonly startTime: number;
  readonly memory: number;
}

const PAGE = 4096;
/** USER_HZ: fixed at 100 in the interface of every Linux architecture that Node runs on. */
export const TICKS_PER_SECOND = 100;

/** Parses `/proc/PID/stat`. The command's name may hold spaces and brackets, so fields count from the last `)`. */
export const parseStat = (text: string): ProcessInfo | undefined => {
  const close = text.lastIndexOf(')');
  const fields = text.slice(close + 2).split(' ');
  if (close < 0 || fields.length < 22) return undefined;
  const field = (index: number): number => Number(fields[index]);
  return {
    pid: Number.parseInt(text, 10),
    state: fields[0] ?? '?',
    parent: field(1),
    group: field(2),
    session: field(3),
    cpuTicks: field(11) + field(12),
    startTime: field(19),
    memory: field(21) * PAGE,
  };
};

/** The process with this id, or undefined when there is none (or no `/proc` on this system). */
export const processInfo = (pid: number): ProcessInfo | undefined => {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
};

/** All processes now. Empty on systems without `/proc`. */
export const processTable = (): ProcessInfo[] => {
  try {
    return readdirSync('/proc').flatMap((name) => {
      const info = /^\d+$/.test(name) ? processInfo(Number(name)) : undefined;
      return info ? [info] : [];
    });
  } catch {
    return [];
  }
};

/**
 * The tree under a task's supervisor: its session and group, and whatever descends from a member even after it opened a
 * session of its own.
 */
export const treeOf = (table: readonly ProcessInfo[], leader: number): ProcessInfo[] => {
  const members = new Set(
    table.filter(({ pid, group, session }) => [pid, group, session].includes(leader)).map(({ pid }) => pid),
  );
  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const { pid, parent } of table) if (members.has(parent)) members.add(pid);
  }
  return table.filter(({ pid }) => members.has(pid));
};

/** Processes whose environment carries the marker line `NAME=value`; only those readable by this user. */
export const marked = (table: readonly ProcessInfo[], marker: string): ProcessInfo[] =>
  table.filter(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(marker);
    } catch {
      return false;
    }
  });

/** The peak of one process's own memory in bytes, 0 when unknown. */
export const peakMemory = (pid: number): number => {
  try {
    const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
    return Number(match?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
};
