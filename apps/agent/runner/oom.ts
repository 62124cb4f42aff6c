import { readFileSync } from 'node:fs';

/** The kernel's count of processes killed for want of memory since boot; 0 where it is not told. */
export const oomKills = (): number => {
  try {
    return parseOomKills(readFileSync('/proc/vmstat', 'utf8'));
  } catch {
    return 0;
  }
};

export const parseOomKills = (vmstat: string): number => Number(/^oom_kill (\d+)$/m.exec(vmstat)?.[1] ?? 0);
