import { accept, reject, toMilli, toMillis, unreachable } from '#kernel';
import type { Decider, Decision } from '#kernel';
import type {
  ChangePool,
  DrainNode,
  EnrollNode,
  MarkOffline,
  NodeCommand,
  ReduceCapacity,
  ReleaseCapacity,
  ReportCache,
  ReportLatency,
  ReserveCapacity,
} from './commands.js';
import { CACHE_PAUSE, cacheChange, MOST_CACHED } from './cache.js';
import { AGENT_STOPS } from './draining.js';
import { evolve } from './evolve.js';
import type { NodeEvent } from './events.js';
import { latencyClassOf } from './latency.js';
import { freeCapacity, isWithin, projectShareMilli, shortages } from './ledger.js';
import type { Shortage } from './ledger.js';
import { absentNode } from './state.js';
import type { NodeState } from './state.js';

export const decide = (command: NodeCommand, node: NodeState): Decision<NodeEvent> => {
  if (command.type === 'EnrollNode') return enroll(command, node);
  if (!node.exists) return reject('NODE_UNKNOWN', 'there is no such node');
  const { at } = command;
  switch (command.type) {
    case 'ChangeInventory': {
      const { inventory } = command;
      return unless(same(node.inventory, inventory), { type: 'NodeInventoryChanged', data: { inventory, at } });
    }
    case 'ChangePolicy': {
      const { policy } = command;
      return unless(same(node.policy, policy), { type: 'NodePolicyChanged', data: { policy, at } });
    }
    case 'MarkOnline':
      return unless(node.online, { type: 'NodeWentOnline', data: { at } });
    case 'MarkOffline':
      return markOffline(command, node);
    case 'CordonNode': {
      const { reason } = command;
      return unless(node.cordoned === reason, { type: 'NodeCordoned', data: { reason, at } });
    }
    case 'UncordonNode': {
      const schedulable = node.cordoned === undefined && node.draining === undefined;
      return unless(schedulable, { type: 'NodeUncordoned', data: { at } });
    }
    case 'DrainNode':
      return drain(command, node);
    case 'AnnounceStop': {
      // What an operator asked for holds longer than an agent is away.
      const closed = node.cordoned !== undefined || node.draining !== undefined;
      return unless(closed, { type: 'NodeDrainStarted', data: { reason: AGENT_STOPS, announcedBy: 'agent', at } });
    }
    case 'ReportLatency':
      return reportLatency(command, node);
    case 'ReportCache':
      return reportCache(command, node);
    case 'ChangePool':
      return changePool(command, node);
    case 'ReserveCapacity':
      return reserve(command, node);
    case 'ReduceCapacity':
      return reduce(command, node);
    case 'ReleaseCapacity':
      return release(command, node);
    default:
      return unreachable(command);
  }
};

/** One node: who it is, what it has, whether it is there, and its capacity ledger. */
export const nodeDecider: Decider<NodeCommand, NodeEvent, NodeState> = { initialState: absentNode, decide, evolve };

const unless = (already: boolean, event: NodeEvent): Decision<NodeEvent> => (already ? accept() : accept(event));

/** Both sides are plain JSON values; the order of keys does not matter. */
const same = (left: unknown, right: unknown): boolean => canonical(left) === canonical(right);

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  );

/** A name belongs to the node that took it first; that node may come back with another inventory. */
const enroll = (command: EnrollNode, node: NodeState): Decision<NodeEvent> => {
  const { nodeId, name, owner, institution, inventory, policy, at } = command;
  if (!node.exists) {
    const data = { nodeId, name, owner, institution, inventory, policy: policy ?? {}, at };
    return accept<NodeEvent>({ type: 'NodeEnrolled', data }, { type: 'NodeWentOnline', data: { at } });
  }
  if (!command.returning) {
    return reject('NODE_NAME_TAKEN', `a node named ${name} is enrolled already`, { nodeId: node.nodeId });
  }
  const events: NodeEvent[] = [];
  if (!same(node.inventory, inventory)) events.push({ type: 'NodeInventoryChanged', data: { inventory, at } });
  if (policy && !same(node.policy, policy)) events.push({ type: 'NodePolicyChanged', data: { policy, at } });
  if (!node.online) events.push({ type: 'NodeWentOnline', data: { at } });
  // It takes work again when its agent is back, unlike one that an operator drained.
  const back = node.draining?.announcedBy === 'agent' && node.cordoned === undefined;
  if (back) events.push({ type: 'NodeUncordoned', data: { at } });
  return accept(...events);
};

const markOffline = ({ lastSeenAt, reason, at }: MarkOffline, node: NodeState): Decision<NodeEvent> =>
  unless(!node.online, { type: 'NodeWentOffline', data: { lastSeenAt, reason, at } });

const drain = ({ reason, deadline, at }: DrainNode, node: NodeState): Decision<NodeEvent> => {
  const { draining } = node;
  const already = draining?.announcedBy === 'operator' && draining.reason === reason && draining.deadline === deadline;
  const data = { reason, ...(deadline !== undefined && { deadline }), announcedBy: 'operator', at } as const;
  return unless(already, { type: 'NodeDrainStarted', data });
};

const reportLatency = ({ roundTrip, at }: ReportLatency, node: NodeState): Decision<NodeEvent> => {
  const latencyClass = latencyClassOf(roundTrip, node.latencyClass);
  const known = latencyClass === node.latencyClass;
  return unless(known, { type: 'NodeLatencyChanged', data: { latencyClass, roundTrip, at } });
};

/** What is told is the whole, so a report that got lost costs nothing but time. */
const reportCache = ({ held, at }: ReportCache, node: NodeState): Decision<NodeEvent> => {
  if (held.length > MOST_CACHED)
    return reject('VALIDATION_FAILED', `a cache is told of by ${MOST_CACHED} digests at most`);
  const { added, removed } = cacheChange(node.cached, held);
  const first = node.cacheReportedAt === undefined;
  if (!first && added.length + removed.length === 0) return accept();
  const since = first ? Infinity : toMillis(at) - toMillis(node.cacheReportedAt);
  return since < CACHE_PAUSE
    ? reject('RATE_LIMITED', `the cache of ${node.nodeId} changed ${since / 1000} s ago; wait ${CACHE_PAUSE / 1000} s`)
    : accept({ type: 'NodeCacheChanged', data: { added, removed, at } });
};

const changePool = ({ pool, from, at }: ChangePool, node: NodeState): Decision<NodeEvent> => {
  const elsewhere = from !== undefined && node.pool?.name !== from;
  return unless(elsewhere || same(node.pool ?? null, pool), { type: 'NodePoolChanged', data: { pool, at } });
};

/** Holds the contract, or says which dimension is short. The ledger is exact: nothing is ever lent twice. */
const reserve = (command: ReserveCapacity, node: NodeState): Decision<NodeEvent> => {
  const { type: _type, ...data } = command;
  if (node.held[command.executionId]) return accept();
  const closed = notSchedulable(node);
  if (closed !== undefined) return reject('NODE_NOT_SCHEDULABLE', `node ${node.nodeId} is ${closed}`);
  const free = freeCapacity(
    node.inventory,
    Object.values(node.held).map(({ contract }) => contract),
  );
  const short = [...shortages(free, command.contract), ...shareShortage(command, node)];
  if (short.length === 0) return accept({ type: 'CapacityReserved', data });
  const words = short.map((one) => `${one.dimension}: asked ${String(one.asked)}, free ${String(one.free)}`);
  return reject('CAPACITY_EXCEEDED', `node ${node.nodeId} lacks ${words.join('; ')}`, { shortages: short });
};

/** The owner's bound on a project holds whatever number of schedulers decide at once, so the ledger keeps it too. */
const shareShortage = ({ project, contract }: ReserveCapacity, node: NodeState): Shortage[] => {
  const own = Object.values(node.held).filter((held) => held.project === project);
  const used = own.reduce((total, held) => total + toMilli(held.contract.cpu), 0);
  const free = projectShareMilli(node.inventory, node.policy, project) - used;
  const asked = toMilli(contract.cpu);
  return asked > Math.max(0, free) ? [{ dimension: `cpu share of project ${project}`, asked, free }] : [];
};

const notSchedulable = (node: NodeState): string | undefined => {
  if (!node.online) return 'offline';
  if (node.cordoned !== undefined) return `cordoned (${node.cordoned})`;
  return node.draining === undefined ? undefined : `draining (${node.draining.reason})`;
};

/** What is not held (any more), or already so, changes nothing; more than is held is never lent this way. */
const reduce = ({ executionId, contract, at }: ReduceCapacity, node: NodeState): Decision<NodeEvent> => {
  const held = node.held[executionId];
  if (!held || same(held.contract, contract)) return accept();
  if (isWithin(contract, held.contract)) {
    return accept({ type: 'CapacityReduced', data: { executionId, contract, at } });
  }
  return reject('CONTRACT_NOT_SMALLER', `${executionId} holds less on node ${node.nodeId} than the contract asks for`);
};

/** What is not held (any more) is not released again: so each claim is given back exactly once. */
const release = ({ executionId, cause, at }: ReleaseCapacity, node: NodeState): Decision<NodeEvent> =>
  unless(!node.held[executionId], { type: 'CapacityReleased', data: { executionId, cause, at } });
