import type { ClusterNode, ClusterState, Held } from '../cluster/state.js';
import { excludedUntil } from '../cluster/queries.js';
import { setAsideUntil } from '../cluster/refusals.js';
import { PROBATION_STREAK } from '../cluster/track-record.js';
import { isEndless } from '../job-types.js';
import type { PlacementRequest } from '../request.js';
import { check, mustNow, PASS, timedCheck } from './check.js';
import type { Check } from './check.js';

/**
 * Who is there to work: enrolled (a node that is not is not in the cluster), online by its heartbeats, neither cordoned
 * nor draining, trusted with work, and not busy with what it was given.
 *
 * Three ways to lose that trust do not overlap. *Excluded*: this node did not take this job, so this job leaves it alone for
 * a minute. *Set aside*: it did not take several jobs in a row, so all jobs leave it alone for a while, and then try it one at
 * a time until it confirms one. *On probation*: it takes jobs and fails them, so it gets one at a time until one succeeds.
 */
export const executorStateChecks = (request: PlacementRequest, cluster: ClusterState): Check[] => [
  check('node.offline', undefined, (node) => mustNow(node.online)),
  check(
    'node.draining',
    undefined,
    (node) => mustNow(node.drain === undefined),
    (node) => node.drain?.reason,
  ),
  check(
    'node.cordoned',
    undefined,
    (node) => mustNow(node.cordon === undefined),
    (node) => node.cordon?.reason,
  ),
  exclusion(request),
  setAside(),
  probation(request, cluster),
  unconfirmed(),
];

const exclusion = ({ exclusions }: PlacementRequest): Check => {
  const until: Check['until'] = (node, at) => excludedUntil(exclusions, node.id, at);
  const test: Check['test'] = (node, at) => mustNow(exclusions.size === 0 || until(node, at) === undefined);
  return timedCheck('node.excluded', undefined, { test, until, lasts: until });
};

/** Each try after the pause is alone: the node holds nothing that has not begun. */
const setAside = (): Check => {
  const until: Check['until'] = ({ refusals }, at) => {
    const end = setAsideUntil(refusals);
    return end !== undefined && end > at ? end : undefined;
  };
  const test: Check['test'] = (node, at) =>
    mustNow(setAsideUntil(node.refusals) === undefined || (until(node, at) === undefined && node.waiting === 0));
  // After the pause nothing more changes by time, but before it ended all was otherwise.
  const lasts: Check['lasts'] = (node, at) =>
    setAsideUntil(node.refusals) === undefined ? undefined : (until(node, at) ?? Infinity);
  return timedCheck('node.set-aside', undefined, {
    test,
    until,
    lasts,
    offer: ({ refusals }) => refusals.count,
  });
};

/**
 * Reservations that a node may have without having confirmed them. An agent puts each on disk before it confirms, on a slow or busy
 * machine some forty in a second; what it is not through with when `timeouts.confirm` is over (15 s unless a job says otherwise)
 * expires and counts against the node. So many keep it busy for a second or two. A node that confirms within a tenth of a second,
 * the way to it included, still gets 640 in a second, which is more than it can start. It is a constant and no setting, for every
 * process must come to the same decision from the same log.
 */
export const MOST_UNCONFIRMED = 64;

const unconfirmed = (): Check =>
  check(
    'node.unconfirmed',
    undefined,
    (node) => mustNow(node.unconfirmed < MOST_UNCONFIRMED),
    (node) => node.unconfirmed,
  );

/**
 * A node whose last tries all failed gets one job at a time, as a trial, until one succeeds; when only one application
 * fails there, this holds for that application's jobs. The trial of a job that never ends is over when it has begun: else the
 * node would be kept from all others for ever.
 */
const probation = ({ spec }: PlacementRequest, cluster: ClusterState): Check => {
  const application = spec.application?.name;
  return check('node.probation', undefined, (node) => {
    if (node.record.streak >= PROBATION_STREAK)
      return mustNow(![...node.ledger.values()].some((held) => isTrial(held, cluster)));
    if (!onProbation(node, application)) return PASS;
    return mustNow(!runsApplication(node, application, cluster));
  });
};

/** Whether what happened on the node lately was nothing but failures, for all work or for this application. */
export const onProbation = (node: ClusterNode, application: string | undefined): boolean =>
  node.record.streak >= PROBATION_STREAK ||
  (application !== undefined && (node.applicationRecords.get(application)?.streak ?? 0) >= PROBATION_STREAK);

const runsApplication = (node: ClusterNode, application: string | undefined, cluster: ClusterState): boolean => {
  for (const held of node.ledger.values())
    if (cluster.jobs.get(held.jobId)?.spec.application?.name === application && isTrial(held, cluster)) return true;
  return false;
};

const isTrial = ({ jobId, started }: Held, { jobs }: ClusterState): boolean => {
  const type = jobs.get(jobId)?.spec.type;
  return !started || type === undefined || !isEndless(type);
};
