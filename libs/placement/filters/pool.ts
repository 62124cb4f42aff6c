import { contractFor, holding, without } from '#governor/budget';
import type { Demand as BudgetDemand, Machine } from '#governor/budget';
import { toMillis } from '#kernel';
import type { Millis } from '#kernel';
import type { Discipline } from '#nodes';
import type { ClusterPool, Front } from '../cluster/pool-line.js';
import { compareTurns } from '../cluster/pool-line.js';
import type { ClusterNode, ClusterState } from '../cluster/state.js';
import { demandOf } from '../demand.js';
import type { Demand } from '../demand.js';
import { endOf, expectedRun } from '../expected-end.js';
import { withMemory } from '../grown-spec.js';
import { hasTargets } from '../job-types.js';
import type { PlacementRequest } from '../request.js';
import { check, mustNow, timedCheck } from './check.js';
import type { Check } from './check.js';

/*
 * Whose turn it is where nodes are in pools. Behind the first in line of a `fifo` pool nothing starts on its nodes; behind that of
 * a `backfill` pool nothing that might delay it on the node that is kept for it.
 */

/** A pool in whose line another job stands before the request. */
export interface BehindIn {
  readonly pool: string;
  readonly discipline: Discipline;
}

/** What comes after all others of its priority: a job that was not submitted. */
const LAST = '~';

/** By name. Jobs that belong to single nodes stand in no line. */
export const behindIn = ({ jobId, spec, turn }: PlacementRequest, { pools }: ClusterState): BehindIn[] => {
  if (pools.size === 0 || hasTargets(spec.type)) return [];
  const own = turn ?? { jobId, priority: spec.priority, submittedAt: LAST };
  const before = ({ discipline, front }: ClusterPool): boolean =>
    front !== undefined && front.jobId !== own.jobId && compareTurns(discipline, front, own) < 0;
  return [...pools.values()]
    .filter(before)
    .map(({ name, discipline }) => ({ pool: name, discipline }))
    .sort((left, right) => (left.pool < right.pool ? -1 : 1));
};

/** Asked last, so that what the node itself lacks is told first. */
export const poolChecks = (request: PlacementRequest, demand: Demand, cluster: ClusterState): Check[] => {
  const behind = behindIn(request, cluster);
  if (behind.length === 0) return [];
  const names = new Set(behind.map(({ pool }) => pool));
  const poolOf = ({ pool = '' }: ClusterNode): ClusterPool | undefined =>
    names.has(pool) ? cluster.pools.get(pool) : undefined;
  const backfills = behind.some(({ discipline }) => discipline === 'backfill');
  return [isBehind(poolOf), ...(backfills ? [wouldDelay(request, demand, cluster, poolOf)] : [])];
};

type PoolOf = (node: ClusterNode) => ClusterPool | undefined;

/** Until the first was looked at as such, nobody knows which node is to be kept for it. */
const isBehind = (poolOf: PoolOf): Check =>
  check(
    'pool.behind',
    undefined,
    (node) => {
      const pool = poolOf(node);
      return mustNow(pool === undefined || (pool.discipline === 'backfill' && pool.front?.hold !== undefined));
    },
    (node) => poolOf(node)?.front?.jobId,
  );

const wouldDelay = (request: PlacementRequest, demand: Demand, cluster: ClusterState, poolOf: PoolOf): Check => {
  const run = expectedRun(request.spec);
  const front = (node: ClusterNode): Front | undefined => {
    const pool = poolOf(node);
    return pool?.discipline === 'backfill' && pool.front?.hold?.nodeId === node.id ? pool.front : undefined;
  };
  const lastStart = ({ hold }: Front): Millis =>
    hold?.from === undefined || run === undefined ? -Infinity : toMillis(hold.from) - run;
  return timedCheck('pool.would-delay', undefined, {
    test: (node, at) => {
      const first = front(node);
      return mustNow(first === undefined || at <= lastStart(first) || fitsBeside(demand, node, first, cluster));
    },
    offer: (node) => front(node)?.jobId,
    until: () => undefined,
    lasts: (node, at) => {
      const first = front(node);
      if (!first || lastStart(first) === -Infinity) return undefined;
      // Later nothing changes by time, but earlier all was otherwise.
      return at <= lastStart(first) ? lastStart(first) + 1 : Infinity;
    },
  });
};

/**
 * Whether the node has room for both from the moment on at which the first is expected to start. Which devices a job will get
 * is only known when it gets them, so of two that need some one waits.
 */
const fitsBeside = (demand: Demand, node: ClusterNode, { hold, ...front }: Front, cluster: ClusterState): boolean => {
  const job = cluster.jobs.get(front.jobId);
  if (!job || hold?.from === undefined) return false;
  const first = demandOf(withMemory(job.spec, front.memory));
  const contract = contractFor(demand, node);
  if (!contract || (first.gpu && demand.gpu)) return false;
  const later = machineAt(node, toMillis(hold.from), cluster);
  return itemsFor(first, holding(later, contract)) >= itemsFor(first, later);
};

/** The node when all that is expected to end until then has. */
const machineAt = (node: ClusterNode, at: Millis, cluster: ClusterState): Machine => {
  let machine: Machine = node;
  for (const held of node.ledger.values()) {
    const end = endOf(held, cluster);
    if (end !== undefined && end <= at) machine = without(machine, held.contract);
  }
  return machine;
};

/** −1 where it does not fit, and 0 at least where it does. */
const itemsFor = (demand: BudgetDemand, machine: Machine): number => {
  const contract = contractFor(demand, machine);
  return contract ? (contract.batchSize ?? 0) : -1;
};

/** Reasons that end when room is freed, the node is through with what it was given, or the turn comes. */
export const endsInLine = (code: string): boolean =>
  code.startsWith('capacity.') || code === 'node.unconfirmed' || code.startsWith('pool.');
