import { memoryFor } from '#governor/budget';
import { toMilli } from '#kernel';
import type { Millis } from '#kernel';
import type { Policy } from '#nodes';
import type { Quota } from '#projects';
import type { AccessSets } from '../cluster/facts.js';
import { stepEnd } from '../cluster/steps.js';
import type { ClusterNode, ClusterState, ProjectUsage } from '../cluster/state.js';
import type { Demand } from '../demand.js';
import { priceOf } from '../price.js';
import { institutionOf } from '../request.js';
import type { PlacementRequest } from '../request.js';
import { formatBytes, formatSeconds } from '../units.js';
import { windowState } from '../windows/windows.js';
import type { WindowState } from '../windows/windows.js';
import { check, fits, must, mustNow, NEVER, NOT_NOW, PASS, timedCheck } from './check.js';
import type { Check, RequestCheck } from './check.js';
import { maintenanceChecks } from './maintenance.js';
import type { ReasonCode } from './reasons.js';

/** What the node's owner says to account, project and job: lists, duration, time windows, share, price. */
export const ownerChecks = (request: PlacementRequest, demand: Demand, cluster: ClusterState): Check[] => [
  ...ownerLists(request, institutionOf(request, cluster)),
  maxDuration(request),
  ...windowChecks(request),
  ...maintenanceChecks(request.spec),
  maxShare(request, demand),
  ...budgetChecks(request, demand),
];

/**
 * Who may: the account in its project, and the project in its quota; the answer is the same for every node. It is asked of
 * the project's configuration as it is now, so a member who was taken out starts nothing new.
 */
export const projectChecks = (
  { project: id, account, jobId }: PlacementRequest,
  demand: Demand,
  cluster: ClusterState,
): RequestCheck[] => {
  const project = cluster.projects.get(id);
  if (!project) return [{ code: 'permission.project', asked: id, holds: false, offer: undefined }];
  const { members, quota } = project;
  const isMember = members.includes('*') || members.includes(account);
  return [
    { code: 'permission.account', asked: account, holds: isMember, offer: undefined },
    ...quotaChecks(jobId, demand, quota, cluster.usage.get(id) ?? NO_USAGE),
  ];
};

const NO_USAGE: ProjectUsage = { cpu: 0, memory: 0, gpus: 0, jobs: new Map() };

const quotaChecks = (jobId: string, demand: Demand, quota: Quota, usage: ProjectUsage): RequestCheck[] => {
  const shares = demand.gpu ? demand.gpu.count * demand.gpu.share : 0;
  const newJob = usage.jobs.has(jobId) ? 0 : 1;
  const least = memoryFor(demand, demand.minItems);
  return [
    ...quotaCheck('quota.cpu', String(demand.cpu / 1000), demand.cpu, usage.cpu, milliOf(quota.cpu)),
    ...quotaCheck('quota.memory', formatBytes(least), least, usage.memory, quota.memory),
    ...(shares > 0 ? quotaCheck('quota.gpus', String(shares / 1000), shares, usage.gpus, milliOf(quota.gpus)) : []),
    ...quotaCheck('quota.jobs', undefined, newJob, usage.jobs.size, quota.jobs),
  ];
};

const milliOf = (bound: number | undefined): number | undefined => (bound === undefined ? undefined : toMilli(bound));

const quotaCheck = (
  code: ReasonCode,
  asked: string | undefined,
  more: number,
  used: number,
  bound: number | undefined,
): RequestCheck[] =>
  bound === undefined ? [] : [{ code, asked, holds: more === 0 || used + more <= bound, offer: bound - used }];

type AccessKind = keyof AccessSets;

const ownerLists = ({ project, account, spec }: PlacementRequest, institution: string): Check[] => [
  ownerList('policy.institution', 'institutions', institution),
  ownerList('policy.project', 'projects', project),
  ownerList('policy.account', 'accounts', account),
  ownerList('policy.application', 'applications', spec.application?.name),
];

/** Deny wins over allow; an absent list says nothing; a job without an application is in no list of applications. */
const ownerList = (code: ReasonCode, kind: AccessKind, name: string | undefined): Check =>
  check(code, name, ({ facts: { allow, deny } }) => {
    if (name !== undefined && deny?.[kind]?.has(name)) return NEVER;
    const allowed = allow?.[kind];
    return must(allowed === undefined || (name !== undefined && allowed.has(name)));
  });

/** A limit is never met by an estimate that is not known. */
const maxDuration = ({ spec: { estimate } }: PlacementRequest): Check =>
  check(
    'policy.max-duration',
    estimate.duration === undefined ? 'unknown' : formatSeconds(estimate.duration),
    ({ policy: { maxDuration: limit } }) =>
      must(limit === undefined || (estimate.duration !== undefined && estimate.duration <= limit)),
    ({ policy }) => policy.maxDuration,
  );

/**
 * A window has to be open, and stay open for as long as the job is estimated to run. A job without an estimate may start
 * in an open window: the owner bounds such jobs with `maxDuration`, and availability scores it as it deserves.
 */
const windowChecks = ({ spec: { estimate } }: PlacementRequest): Check[] => {
  const { duration } = estimate;
  const asked = duration === undefined ? undefined : formatSeconds(duration);
  const open = timedCheck('policy.window', asked, {
    test: windowVerdict(duration),
    offer: longestOpening(duration),
    until: nextOpening,
    lasts: sameWindow,
  });
  return duration === undefined ? [open] : [open, windowRemaining(duration)];
};

const windowRemaining = (duration: number): Check =>
  timedCheck('policy.window-remaining', formatSeconds(duration), {
    test: remainingVerdict(duration),
    offer: secondsLeft,
    until: reopening,
    lasts: ({ policy: { windows } }, at) => windows && remainingUntil(windowState(windows, at), duration, at),
  });

/** While the same window is open or none, but not past the moment from which it ends too soon, nor past the offer's step. */
const remainingUntil = ({ open, closesAt, until }: WindowState, duration: number, at: Millis): Millis => {
  if (!open) return until;
  const lastStart = closesAt - duration * 1000;
  return at <= lastStart ? Math.min(until, lastStart + 1) : Math.min(until, stepEnd(at) + 1);
};

const sameWindow = ({ policy: { windows } }: ClusterNode, at: Millis): Millis | undefined =>
  windows && windowState(windows, at).until;

const windowVerdict =
  (duration: number | undefined): Check['test'] =>
  (node, at) => {
    const { windows } = node.policy;
    if (windows === undefined) return PASS;
    const longest = node.facts.longestWindow;
    if (longest === 0 || (duration !== undefined && duration > longest)) return NEVER;
    return mustNow(windowState(windows, at).open);
  };

/** Told of a job that takes longer than any window of the node: how long the longest is, on a day without a change of clocks. */
const longestOpening =
  (duration: number | undefined): Check['offer'] =>
  ({ facts: { longestWindow: longest } }) =>
    duration !== undefined && longest > 0 && duration > longest ? longest - 3600 : undefined;

const remainingVerdict =
  (duration: number): Check['test'] =>
  (node, at) => {
    const { windows } = node.policy;
    if (windows === undefined) return PASS;
    const state = windowState(windows, at);
    if (!state.open || state.closesAt - at >= duration * 1000) return PASS;
    return duration > node.facts.longestWindow ? NEVER : NOT_NOW;
  };

const finite = (at: Millis): Millis | undefined => (Number.isFinite(at) ? at : undefined);

const nextOpening: Check['until'] = ({ policy: { windows } }, at) => {
  const state = windows && windowState(windows, at);
  return state && !state.open ? finite(state.opensAt) : undefined;
};

/** In whole steps of time, rounded down: finer would change at every look. */
const secondsLeft: Check['offer'] = ({ policy: { windows } }, at) =>
  windows && Math.max(0, Math.floor((windowState(windows, at).closesAt - stepEnd(at)) / 1000));

const reopening: Check['until'] = ({ policy: { windows } }, at) => {
  const closesAt = windows ? windowState(windows, at).closesAt : Infinity;
  return windows && Number.isFinite(closesAt) ? finite(windowState(windows, closesAt).opensAt) : undefined;
};

/** The largest part of the node's cores that a project may hold at once. */
const maxShare = ({ project }: PlacementRequest, demand: Demand): Check => {
  const limit = ({ policy, total }: ClusterNode): number => shareLimit(policy, project, total.cpu);
  return check(
    'policy.max-share',
    String(demand.cpu / 1000),
    (node) => {
      if (node.policy.maxShare === undefined) return PASS;
      const bound = limit(node);
      return fits(demand.cpu, bound, bound - (node.projectCpu.get(project) ?? 0));
    },
    (node) => limit(node) - (node.projectCpu.get(project) ?? 0),
  );
};

const shareLimit = ({ maxShare: shares }: Policy, project: string, cpu: number): number =>
  shares && Object.hasOwn(shares, project) ? Math.floor((shares[project] ?? 1) * cpu + 1e-6) : Infinity;

/** What the whole request would cost, against what the job may spend. Without a budget every price will do. */
const budgetChecks = ({ spec }: PlacementRequest, demand: Demand): Check[] => {
  const { budget, estimate } = spec;
  if (budget === undefined) return [];
  const rate = (node: ClusterNode): number => priceOf(node.policy.price, demand, demand.maxItems);
  const { duration } = estimate;
  if (duration === undefined)
    return [check('budget.unknown', String(budget.maxCost), (node) => must(rate(node) === 0))];
  const cost = (node: ClusterNode): number => (rate(node) * duration) / 3600;
  return [check('budget.price', String(budget.maxCost), (node) => must(cost(node) <= budget.maxCost), cost)];
};
