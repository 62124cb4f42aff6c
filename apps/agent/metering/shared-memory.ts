import { readProcFile } from '../runner/proc-file.js';

/** The proportional set size in the text of `/proc/PID/smaps_rollup`: each page counts as its share among those who map it. */
export const parsePss = (rollup: string): number | undefined => {
  const match = /^Pss: +(\d+) kB$/m.exec(rollup);
  return match ? Number(match[1]) * 1024 : undefined;
};

/**
 * Bytes of memory that processes use together, a page that several of them share counted once. Resident sizes, which are cheap,
 * count it for each of them: workers that were forked from one large parent would look many times as large as they are.
 * A process that cannot be read counts as its resident size.
 */
export const memoryTogether = (
  processes: readonly { readonly pid: number; readonly memory: number }[],
  read: (pid: number) => string | undefined = readRollup,
): number => processes.reduce((sum, { pid, memory }) => sum + (parsePss(read(pid) ?? '') ?? memory), 0);

const readRollup = (pid: number): string | undefined => readProcFile(`/proc/${pid}/smaps_rollup`);
