import type { Assignment } from '#contracts';
import type { Meter } from '../metering/meter.js';
import type { ExecutionHost } from './host.js';
import { limitsOf } from './limits.js';

/** Brings an assignment's inputs into its folder, as `InputFetcher.place` does, on its meter and within its contract. */
export const placeInputs = (
  host: ExecutionHost,
  { executionId, inputs, contract }: Assignment,
  work: string,
  meter: Meter,
  signal: AbortSignal,
): Promise<void> => {
  const { disk } = limitsOf(contract, host.processLimit, host.enforcement);
  const received = (bytes: number): void => meter.received(bytes);
  const sawDisk = (bytes: number): void => meter.sawDisk(bytes);
  return host.inputs.place({ executionId, inputs, work, disk, received, sawDisk }, signal);
};
