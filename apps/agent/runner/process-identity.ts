import { readProcFile } from './proc-file.js';
import { processInfo } from './process-table.js';

/** A process for good: its number alone may be given to another later, and all numbers start anew at boot. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: number;
  readonly bootId: string;
}

/** Stands for a process of which nothing is known: never alive, and no one is signalled in its name. */
export const NO_PROCESS: ProcessIdentity = { pid: 0, startTime: 0, bootId: 'none' };

const bootId = (): string => (readProcFile('/proc/sys/kernel/random/boot_id') ?? '').trim();

/** The identity of a process that is there now. Without `/proc` the start time reads 0 and only the number counts. */
export const identityOf = (pid: number): ProcessIdentity => ({
  pid,
  startTime: processInfo(pid)?.startTime ?? 0,
  bootId: bootId(),
});

/** Whether exactly this process still runs; a zombie does not. */
export const isAlive = (identity: ProcessIdentity): boolean => {
  if (identity.bootId !== bootId()) return false;
  if (identity.startTime === 0) return canSignal(identity.pid);
  const info = processInfo(identity.pid);
  return info !== undefined && info.startTime === identity.startTime && info.state !== 'Z' && info.state !== 'X';
};

/**
 * Whether the number may belong to someone else by now: another boot, or another start time. While any process of the
 * group lives the system gives its number to no one, so a missing leader alone is no reason.
 */
export const isReused = (identity: ProcessIdentity): boolean => {
  if (identity.bootId !== bootId()) return true;
  const info = identity.startTime === 0 ? undefined : processInfo(identity.pid);
  return info !== undefined && info.startTime !== identity.startTime;
};

const canSignal = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
