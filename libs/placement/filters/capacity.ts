import { isOfModel, needsOf, neededOn } from '#governor/budget';
import type { AmountNeed, DeviceNeed, GpuDemand } from '#governor/budget';
import type { Demand } from '../demand.js';
import { formatBytes, formatValue } from '../units.js';
import { check } from './check.js';
import type { Check } from './check.js';
import { REASONS } from './reasons.js';
import type { ReasonCode } from './reasons.js';

/**
 * Whether the job fits, as the governor tells: "never" when the whole node would be too small, "not now" when what is free
 * is. A job that works in batches fits when its smallest batch does. The offer of the first is the node's whole, of the
 * second what is free.
 */
export const capacityChecks = (demand: Demand): Check[] =>
  needsOf(demand).flatMap((need) => {
    const { code } = need;
    // A job names no device of a node.
    if (code === 'capacity.gpu-device') return [];
    if (need.kind === 'amount') return [amountCheck(code, need)];
    return demand.gpu ? [deviceCheck(code, need, demand.gpu, demand.minItems)] : [];
  });

const amountCheck = (code: ReasonCode, { asked, standing, total, free }: AmountNeed): Check =>
  check(code, formatValue(REASONS[code].unit, asked), standing, (node) =>
    asked > total(node) ? total(node) : free(node),
  );

const deviceCheck = (code: ReasonCode, need: DeviceNeed, gpu: GpuDemand, items: number): Check => {
  const { standing, found } = need;
  const { count, share, models } = gpu;
  switch (code) {
    case 'capacity.gpu-model':
      return check(code, `${count} × ${[...models].join(' or ')}`, standing, ({ devices }) =>
        [...new Set(devices.map(({ model }) => model))].sort().join(', '),
      );
    case 'capacity.gpu-memory':
      return check(code, memoryAsked(gpu, items), standing, ({ devices }) =>
        Math.max(0, ...devices.filter((device) => isOfModel(device, gpu)).map(({ memory }) => memory)),
      );
    case 'capacity.gpu-free':
      return check(code, share < 1000 ? `${count} × ${share / 1000}` : String(count), standing, found);
    default:
      return check(code, String(count), standing, found);
  }
};

/** Of devices of any size; nothing is said where a whole device of any size will do. */
const memoryAsked = (gpu: GpuDemand, items: number): string | undefined =>
  gpu.memory === undefined && gpu.memoryPerItem === 0 ? undefined : formatBytes(neededOn(gpu, { memory: 0 }, items));
