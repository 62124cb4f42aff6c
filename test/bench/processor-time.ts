import { readFileSync, readdirSync } from 'node:fs';

const TICK_MICROSECONDS = 10_000;

/** Microseconds of processor time that a process has used, user and system; its children are not in it. Linux only. */
export const processorTime = (pid: number): number => {
  const [, , user = 0, system = 0] = statOf(pid);
  return (user + system) * TICK_MICROSECONDS;
};

/** The same for a process and all its children, those that have ended included. */
export const treeTime = (pid: number): number => {
  const [, , user = 0, system = 0, endedUser = 0, endedSystem = 0] = statOf(pid);
  const own = (user + system + endedUser + endedSystem) * TICK_MICROSECONDS;
  return childrenOf(pid).reduce((sum, child) => sum + processorTime(child), own);
};

const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => statOf(other)[1] === pid);

/** Pid, parent, user, system, ended children's user and system time; empty for a process that is gone. */
const statOf = (pid: number): number[] => {
  try {
    const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .split(') ')[1]!
      .split(' ');
    return [pid, ...[1, 11, 12, 13, 14].map((index) => Number(fields[index]))];
  } catch {
    return [];
  }
};
