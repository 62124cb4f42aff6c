import type { Pool } from '#nodes';
import { nodeChanged } from './columns.js';
import { compareTurns, emptyPool, placeOf } from './pool-line.js';
import type { ClusterPool, Front, Turn } from './pool-line.js';
import type { ClusterJob, ClusterNode, ClusterState } from './state.js';

/*
 * Pools and who stands in line for their nodes. A job stands in the line of a pool while the newest of its decisions says so and
 * the part that it was made for waits. All of this follows from the nodes' and the jobs' own events.
 */

/** The node moves to another pool or to none, or tells of its pool's discipline. A pool without nodes is no more. */
export const poolChanged = (cluster: ClusterState, node: ClusterNode, pool: Pool | null): void => {
  if (node.pool !== undefined && node.pool !== pool?.name) leave(cluster, node.id, node.pool);
  node.pool = pool?.name;
  if (!pool) return;
  const known = cluster.pools.get(pool.name);
  const joined = known ?? emptyPool(pool);
  joined.nodes.add(node.id);
  if (known && known.discipline === pool.discipline) return;
  cluster.pools.set(pool.name, joined);
  joined.discipline = pool.discipline;
  lineUpAgain(cluster, joined);
};

const leave = ({ pools }: ClusterState, nodeId: string, name: string): void => {
  const pool = pools.get(name);
  pool?.nodes.delete(nodeId);
  if (pool?.nodes.size === 0) pools.delete(name);
};

const lineUpAgain = (cluster: ClusterState, pool: ClusterPool): void => {
  const { discipline, name, turns } = pool;
  turns.clear();
  for (const job of cluster.jobs.values()) {
    if (discipline !== 'priority' && standsIn(cluster, job, name)) turns.set(job.id, turnOf(job));
  }
  pool.line = [...turns.values()].sort((left, right) => compareTurns(discipline, left, right));
  frontChanged(cluster, pool, frontOf(cluster, pool));
};

/** To be called after every change of a job. */
export const lineUp = (cluster: ClusterState, job: ClusterJob): void => {
  for (const pool of cluster.pools.values()) {
    const stands = pool.discipline !== 'priority' && standsIn(cluster, job, pool.name);
    const turn = pool.turns.get(job.id);
    if (!stands && !turn) continue;
    if (turn && (!stands || turn.priority !== job.priority)) strikeOut(pool, turn);
    if (stands && !pool.turns.has(job.id)) enter(pool, turnOf(job));
    const front = frontOf(cluster, pool);
    if (!isSame(front, pool.front)) frontChanged(cluster, pool, front);
  }
};

const standsIn = ({ jobs }: ClusterState, job: ClusterJob, name: string): boolean => {
  const { lastDecision: last, partitions, paused, cancelRequested } = job;
  if (!last?.lines || paused || cancelRequested || !jobs.has(job.id)) return false;
  return partitions[last.partition]?.state === 'waiting' && last.lines.some(({ pool }) => pool === name);
};

const turnOf = ({ id, priority, submittedAt }: ClusterJob): Turn => ({ jobId: id, priority, submittedAt });

const enter = (pool: ClusterPool, turn: Turn): void => {
  pool.turns.set(turn.jobId, turn);
  pool.line.splice(placeOf(pool, turn), 0, turn);
};

const strikeOut = (pool: ClusterPool, turn: Turn): void => {
  pool.turns.delete(turn.jobId);
  pool.line.splice(placeOf(pool, turn), 1);
};

const frontOf = ({ jobs }: ClusterState, { line, name }: ClusterPool): Front | undefined => {
  const [turn] = line;
  const job = turn && jobs.get(turn.jobId);
  const last = job?.lastDecision;
  if (!job || !last) return undefined;
  const { partition } = last;
  const hold = last.lines?.find(({ pool }) => pool === name)?.hold;
  return { ...turn, partition, memory: job.partitions[partition]?.memory, hold };
};

const isSame = (left: Front | undefined, right: Front | undefined): boolean =>
  left?.jobId === right?.jobId &&
  left?.priority === right?.priority &&
  left?.partition === right?.partition &&
  left?.memory === right?.memory &&
  left?.hold?.nodeId === right?.hold?.nodeId &&
  left?.hold?.from === right?.hold?.from;

/** What the nodes answer to those behind depends on it. */
const frontChanged = (cluster: ClusterState, pool: ClusterPool, front: Front | undefined): void => {
  pool.front = front;
  for (const nodeId of pool.nodes) {
    const node = cluster.nodes.get(nodeId);
    if (node) nodeChanged(cluster, node);
  }
};
