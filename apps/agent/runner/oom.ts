import { readProcFile } from './proc-file.js';

/** The kernel's count of processes killed for want of memory since boot; 0 where it is not told. */
export const oomKills = (): number => parseOomKills(readProcFile('/proc/vmstat') ?? '');

export const parseOomKills = (vmstat: string): number => Number(/^oom_kill (\d+)$/m.exec(vmstat)?.[1] ?? 0);
