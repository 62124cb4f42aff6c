import type { Timers } from '#kernel';
import type { Logger } from 'pino';
import { ControlGroups } from '../cgroup/control-groups.js';
import type { LimitOptions } from '../options.js';
import { processTable } from '../runner/process-table.js';
import type { Enforcement } from './limits.js';

/** Who enforces what on this machine. */
export interface Enforcer {
  readonly enforcement: Enforcement;
  /** The kernel's groups, where they enforce. */
  readonly groups?: ControlGroups;
  /** How many processes a task may have at a time. */
  readonly processLimit: number;
  /** Whether a contract's cores are a ceiling under control groups; else they are a share of a busy machine. */
  readonly hardCpu: boolean;
}

const MOST_PROCESSES = 4_096;

/** Control groups were asked for by name and cannot be had. */
class NoControlGroups extends Error {
  constructor(why: string) {
    super(`limits.enforce is cgroup, but ${why}`);
    this.name = 'NoControlGroups';
  }
}

/** How tasks are held to their contracts on this machine: as the owner says, else in the strictest way that there is. */
export const findEnforcer = async (options: LimitOptions, timers: Timers, log: Logger): Promise<Enforcer> => {
  const { enforce = 'auto', cgroup, processes = MOST_PROCESSES, cpu } = options;
  const common = { processLimit: processes, hardCpu: cpu === 'ceiling' };
  if (enforce === 'none' || enforce === 'watchdog') return { enforcement: enforce, ...common };
  const found = await ControlGroups.open(cgroup, timers);
  if ('groups' in found) return { enforcement: 'cgroup', groups: found.groups, ...common };
  if (enforce === 'cgroup') throw new NoControlGroups(found.why);
  const enforcement = processTable().length > 0 ? 'watchdog' : 'none';
  log.info({ limits: enforcement, why: found.why }, 'tasks are not held to their contracts by control groups');
  return { enforcement, ...common };
};
