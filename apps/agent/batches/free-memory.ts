import { platform } from 'node:os';
import { freeMemory } from '../inventory/detect.js';

/**
 * Bytes that the machine could give to a task now, what it caches included; undefined where the system counts as free only what
 * nothing at all is in, which is never much.
 */
export const memoryForTasks = (): number | undefined => (platform() === 'linux' ? freeMemory() : undefined);
