import type { Millis } from '#kernel';
import type { Policy } from '#nodes';
import type { AccessSets } from '../cluster/facts.js';
import type { ClusterNode, ClusterProject, ClusterState, ProjectUsage } from '../cluster/state.js';
import { memoryFor } from '../demand.js';
import type { Demand } from '../demand.js';
import { priceOf } from '../price.js';
import { institutionOf } from '../request.js';
import type { PlacementRequest } from '../request.js';
import { formatBytes, formatSeconds, toMilli } from '../units.js';
import { windowState } from '../windows/windows.js';
import { check, fits, must, mustNow, NEVER, NOT_NOW, PASS } from './check.js';
import type { Check } from './check.js';
import type { ReasonCode } from './reasons.js';

/**
 * Who may: the account in its project, the project in its quota, and both with the node's owner (lists, duration, time
 * windows, share, price). Account and project are asked of the project's configuration as it is now, so a member who was
 * taken out starts nothing new.
 */
export const permissionChecks = (request: PlacementRequest, demand: Demand, cluster: ClusterState): Check[] => {
  const project = cluster.projects.get(request.project);
  return [
    check('permission.project', request.project, () => mustNow(project !== undefined)),
    ...(project ? [membership(request, project), ...quotaChecks(request, demand, project, cluster)] : []),
    ...ownerLists(request, institutionOf(request, cluster)),
    maxDuration(request),
    ...windowChecks(request),
    maxShare(request, demand),
    ...budgetChecks(request, demand),
  ];
};

const membership = ({ account }: PlacementRequest, { members }: ClusterProject): Check => {
  const verdict = mustNow(members.includes('*') || members.includes(account));
  return check('permission.account', account, () => verdict);
};

const NO_USAGE: ProjectUsage = { cpu: 0, memory: 0, gpus: 0, jobs: new Map() };

const quotaChecks = (request: PlacementRequest, demand: Demand, project: ClusterProject, cluster: ClusterState) => {
  const usage = cluster.usage.get(project.id) ?? NO_USAGE;
  const { quota } = project;
  const shares = demand.gpu ? demand.gpu.count * demand.gpu.share : 0;
  const newJob = usage.jobs.has(request.jobId) ? 0 : 1;
  const least = memoryFor(demand, demand.minItems);
  return [
    ...quotaCheck('quota.cpu', String(demand.cpu / 1000), demand.cpu, usage.cpu, quota.cpu && toMilli(quota.cpu)),
    ...quotaCheck('quota.memory', formatBytes(least), least, usage.memory, quota.memory),
    ...(shares > 0 ? quotaCheck('quota.gpus', String(shares / 1000), shares, usage.gpus, gpuQuota(quota.gpus)) : []),
    ...quotaCheck('quota.jobs', undefined, newJob, usage.jobs.size, quota.jobs),
  ];
};

const gpuQuota = (gpus: number | undefined): number | undefined => (gpus === undefined ? undefined : toMilli(gpus));

const quotaCheck = (
  code: ReasonCode,
  asked: string | undefined,
  more: number,
  used: number,
  bound: number | undefined,
) => {
  if (bound === undefined) return [];
  const verdict = mustNow(more === 0 || used + more <= bound);
  return [
    check(
      code,
      asked,
      () => verdict,
      () => bound - used,
    ),
  ];
};

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
  const open = check('policy.window', asked, windowVerdict(duration), undefined, nextOpening);
  if (duration === undefined) return [open];
  return [open, check('policy.window-remaining', asked, remainingVerdict(duration), secondsLeft, reopening)];
};

const windowVerdict =
  (duration: number | undefined): Check['test'] =>
  (node, at) => {
    const { windows } = node.policy;
    if (windows === undefined) return PASS;
    const longest = node.facts.longestWindow;
    if (longest === 0 || (duration !== undefined && duration > longest)) return NEVER;
    return mustNow(windowState(windows, at).open);
  };

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

const secondsLeft: Check['offer'] = ({ policy: { windows } }, at) =>
  windows && Math.floor((windowState(windows, at).closesAt - at) / 1000);

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
