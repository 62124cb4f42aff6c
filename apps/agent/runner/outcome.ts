import type { Failure } from '../executions/ending.js';
import { failure } from '../executions/ending.js';
import { signalName } from './signal-name.js';
import type { ExitRecord } from './supervisor.js';

/** What was seen around a task's end. `oomKills` counts the kernel's out-of-memory kills on the machine during the run. */
export interface Evidence {
  readonly stderrTail: readonly string[];
  readonly oomKills: number;
  /** Whether the task's files have a largest size, by its contract's disk. */
  readonly quota?: boolean;
}

const NO_SPACE = /ENOSPC|No space left on device|Disk quota exceeded/;
/** How a program tells of the limit that the kernel holds a single file to; Python ignores the signal and says this. */
const TOO_LARGE = /EFBIG|File too large|File size limit exceeded/;
const NO_MEMORY = /heap out of memory|Cannot allocate memory|std::bad_alloc|^MemoryError\b/m;

/**
 * Why a task failed, from its exit status and what was seen; undefined when it ended well. A status of 128 + n is signal
 * n, as every shell counts. Running out of memory or disk is told apart from the program's own faults, because another
 * node or a larger contract may help there.
 */
export const classifyExit = (exit: ExitRecord, evidence: Evidence): Failure | undefined => {
  if (exit.code === 0) return undefined;
  const signal = signalName(exit.code);
  const stderr = evidence.stderrTail.join('\n');
  const diagnostics = evidence.oomKills > 0 ? { oomKills: evidence.oomKills } : undefined;
  if ((signal === 'SIGKILL' && evidence.oomKills > 0) || NO_MEMORY.test(stderr))
    return failure('resource', 'out-of-memory', 'the task ran out of memory', diagnostics);
  if (evidence.quota === true && (signal === 'SIGXFSZ' || TOO_LARGE.test(stderr)))
    return failure('resource', 'disk-full', "a file grew beyond the contract's disk", diagnostics);
  if (NO_SPACE.test(stderr))
    return failure('resource', 'disk-full', 'the task found no space left on disk', diagnostics);
  return signal === undefined
    ? failure('application', 'exit-code', `the task ended with exit code ${exit.code}`, diagnostics)
    : failure('application', 'signal', `the task was ended by ${signal}`, diagnostics);
};
