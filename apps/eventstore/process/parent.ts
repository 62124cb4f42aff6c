import type { Timers } from '#kernel';

const LOOK_EVERY_MS = 500;

/** Calls `gone` once when the process with this id is no more. */
export const watchParent = (pid: number, timers: Timers, gone: () => void): void => {
  const timer = timers.every(LOOK_EVERY_MS, () => {
    if (isAlive(pid)) return;
    timer.cancel();
    gone();
  });
};

/** Calls `gone` once when the other end of stdin is closed, as it is when the parent dies. */
export const watchStdin = (stdin: NodeJS.ReadStream, gone: () => void): void => {
  let told = false;
  const tell = (): void => {
    if (!told) gone();
    told = true;
  };
  for (const event of ['end', 'close', 'error'] as const) stdin.on(event, tell);
  stdin.resume();
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
