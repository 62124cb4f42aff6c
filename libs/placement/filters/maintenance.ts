import type { JobSpec } from '#jobs';
import type { Millis } from '#kernel';
import type { ClusterNode } from '../cluster/state.js';
import { formatSeconds } from '../units.js';
import { maintenanceState } from '../windows/maintenance.js';
import type { MaintenanceState } from '../windows/maintenance.js';
import { mustNow, timedCheck } from './check.js';
import type { Check } from './check.js';

/**
 * The times in which the owner needs the node for himself. While one goes on nothing begins there, and before it nothing that
 * would reach into it: by the job's estimate, or by `timeouts.run` when it has none. A job that says neither may begin, and is
 * asked off the node when its time comes.
 */
export const maintenanceChecks = (spec: JobSpec): Check[] => {
  const duration = longestRun(spec);
  return [underMaintenance(), ...(duration === undefined ? [] : [maintenanceAhead(duration)])];
};

/** Seconds that a run is expected to take, or may; undefined when nobody knows. */
export const longestRun = ({ estimate, timeouts }: JobSpec): number | undefined => estimate.duration ?? timeouts.run;

const stateOn = ({ policy: { maintenance } }: ClusterNode, at: Millis): MaintenanceState =>
  maintenance ? maintenanceState(maintenance, at) : NONE;

const NONE: MaintenanceState = { endsAt: undefined, next: undefined };

const underMaintenance = (): Check =>
  timedCheck('policy.maintenance', undefined, {
    test: (node, at) => mustNow(stateOn(node, at).endsAt === undefined),
    offer: (node, at) => stateOn(node, at).endsAt,
    until: (node, at) => stateOn(node, at).endsAt,
    lasts: (node, at) => {
      const { endsAt, next } = stateOn(node, at);
      return endsAt ?? next?.from;
    },
  });

/** One that goes on is told by the other check. */
const maintenanceAhead = (duration: number): Check => {
  const inTheWay = (node: ClusterNode, at: Millis) => {
    const { endsAt, next } = stateOn(node, at);
    return endsAt === undefined && next && at + duration * 1000 > next.from ? next : undefined;
  };
  return timedCheck('policy.maintenance-ahead', formatSeconds(duration), {
    test: (node, at) => mustNow(inTheWay(node, at) === undefined),
    offer: (node, at) => inTheWay(node, at)?.from,
    until: (node, at) => inTheWay(node, at)?.until,
    lasts: (node, at) => {
      const { endsAt, next } = stateOn(node, at);
      if (endsAt !== undefined) return endsAt;
      const lastStart = next && next.from - duration * 1000;
      return lastStart !== undefined && at <= lastStart ? lastStart + 1 : next?.from;
    },
  });
};
