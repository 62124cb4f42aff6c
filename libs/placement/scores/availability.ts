import type { Millis } from '#kernel';
import { stepStart } from '../cluster/steps.js';
import type { ClusterNode } from '../cluster/state.js';
import { presenceShare } from '../cluster/uptime.js';
import { windowState } from '../windows/windows.js';

const PRESENCE = 0.6;
const FREE = 0.2;
const WINDOW = 0.2;

/**
 * Availability, raw and value in 0…1: 60 % the share of the recent past in which the node was online (a week-old hour
 * counts half; a new node is credited a day at 0.9), 20 % the share of its cores that is free, 20 % how far the owner's
 * open window outlasts the job: from ½ when it just fits to 1 when it lasts twice as long or for ever, 0 when the job's
 * duration is unknown and the window does end. It says nothing of power cuts that are announced: owners drain for those.
 */
export const availability = (node: ClusterNode, duration: number | undefined, at: Millis): number =>
  PRESENCE * presenceShare(node.uptime, stepStart(at)) +
  FREE * freeShare(node) +
  WINDOW * windowShare(node, duration, at);

const freeShare = ({ total, used }: ClusterNode): number =>
  total.cpu > 0 ? Math.max(0, Math.min(1, (total.cpu - used.cpu) / total.cpu)) : 0;

const windowShare = ({ policy: { windows } }: ClusterNode, duration: number | undefined, at: Millis): number => {
  if (windows === undefined) return 1;
  const { closesAt } = windowState(windows, at);
  if (closesAt === Infinity) return 1;
  if (duration === undefined) return 0;
  return duration <= 0 ? 1 : Math.max(0, Math.min(1, (closesAt - stepStart(at)) / 1000 / (2 * duration)));
};
