import type { Logger } from 'pino';
import type { LimitOptions } from '../options.js';
import { processTable } from '../runner/process-table.js';
import type { Enforcement } from './limits.js';

/** How tasks are held to their contracts on this machine: as the owner says, else in the strictest way that there is. */
export const enforcementOf = ({ enforce = 'auto' }: LimitOptions = {}, log: Logger): Enforcement => {
  if (enforce !== 'auto') return enforce;
  const found = processTable().length > 0 ? 'watchdog' : 'none';
  log.info({ limits: found }, 'how tasks are held to their contracts');
  return found;
};
