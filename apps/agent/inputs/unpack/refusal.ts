import { ExecutionFault, failure } from '../../executions/ending.js';
import { shown } from './entry.js';

/**
 * Why an archive is not taken: `archive-format` is none that is known here, `archive-corrupt` is broken or cut off,
 * `archive-entry` holds something that is never taken, `archive-too-large` holds more than it may.
 */
export type ArchiveCode = 'archive-format' | 'archive-corrupt' | 'archive-entry' | 'archive-too-large';

export const refused = (code: ArchiveCode, message: string): ExecutionFault =>
  new ExecutionFault(failure('input', code, message));

export const refusedEntry = (name: string, why: string): ExecutionFault =>
  refused('archive-entry', `its entry ${shown(name)} ${why}`);
