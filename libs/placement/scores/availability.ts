import { itemsOn, memoryFor } from '#governor/budget';
import type { JobSpec } from '#jobs';
import type { Millis } from '#kernel';
import { stepStart } from '../cluster/steps.js';
import type { ClusterNode } from '../cluster/state.js';
import { presenceShare } from '../cluster/uptime.js';
import { demandOf } from '../demand.js';
import type { Demand } from '../demand.js';
import { windowState } from '../windows/windows.js';

const PRESENCE = 0.6;
const HEADROOM = 0.2;
const WINDOW = 0.2;

/**
 * Availability, raw and value in 0…1: 60 % the share of the recent past in which the node was online (a week-old hour
 * counts half; a new node is credited a day at 0.9), 20 % whether the job leaves the node headroom (a tenth of its cores, of
 * its memory and, for a job that asks for GPUs, of its GPU shares; more than a tenth is no better, so that filling nodes up
 * is held against nobody but the last job), 20 % how far the owner's open window outlasts the job: from ½ when it just fits
 * to 1 when it lasts twice as long or for ever, 0 when the job's duration is unknown and the window does end. It says nothing
 * of power cuts that are announced: those are maintenance, which a filter looks at.
 */
export const availability = (node: ClusterNode, spec: JobSpec, at: Millis): number =>
  PRESENCE * presenceShare(node.uptime, stepStart(at)) +
  (leavesHeadroom(node, demandOf(spec)) ? HEADROOM : 0) +
  WINDOW * windowShare(node, spec.estimate.duration, at);

const leavesHeadroom = (node: ClusterNode, demand: Demand): boolean => {
  const { total, used, usedShares, devices } = node;
  const { cpu, gpu } = demand;
  const memory = memoryFor(demand, itemsOn(demand, node));
  return (
    leavesTenth(total.cpu, used.cpu + cpu) &&
    leavesTenth(total.memory, used.memory + memory) &&
    (gpu === undefined || leavesTenth(devices.length * 1000, usedShares + gpu.count * gpu.share))
  );
};

/** In whole numbers, so that a tenth is a tenth. */
const leavesTenth = (all: number, taken: number): boolean => (all - taken) * 10 >= all;

const windowShare = ({ policy: { windows } }: ClusterNode, duration: number | undefined, at: Millis): number => {
  if (windows === undefined) return 1;
  const { closesAt } = windowState(windows, at);
  if (closesAt === Infinity) return 1;
  if (duration === undefined) return 0;
  return duration <= 0 ? 1 : Math.max(0, Math.min(1, (closesAt - stepStart(at)) / 1000 / (2 * duration)));
};
