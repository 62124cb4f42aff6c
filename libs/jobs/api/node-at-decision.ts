import type { EventStore } from '#event-store';
import { NODE_STREAM_PREFIX } from '#nodes';
import { applyEvent, assume, emptyCluster, explainNode, requestOf } from '#placement';
import type { ClusterState, NodeExplanation } from '#placement';
import { PROJECT_STREAM_PREFIX } from '#projects';
import type { Decision } from '../domain/decision.js';
import { JOB_STREAM_PREFIX } from '../domain/events.js';

/**
 * What a node came to when a decision was made: the log is folded to where the decision looked, the reservations that it
 * took for granted are put beside, and the same checks and scores are asked again. Takes as long as reading the log.
 */
export const explainNodeAt = async (
  store: EventStore,
  jobId: string,
  decision: Decision,
  nodeId: string,
): Promise<NodeExplanation> => {
  const cluster = await clusterAt(store, decision);
  const job = cluster.jobs.get(jobId);
  if (!job) return { kind: 'unknown', nodeId };
  return explainNode(requestOf(job, decision.partition), cluster, { time: decision.time }, nodeId);
};

const clusterAt = async (store: EventStore, { position, assumed }: Decision): Promise<ClusterState> => {
  const cluster = emptyCluster();
  const upTo = BigInt(position);
  const streamPrefixes = [JOB_STREAM_PREFIX, NODE_STREAM_PREFIX, PROJECT_STREAM_PREFIX];
  for await (const event of store.readAll({ upTo, filter: { streamPrefixes } })) applyEvent(cluster, event);
  await assumeAll(store, cluster, upTo, new Set(assumed));
  return cluster;
};

/** Each assumption came true, or the decision would not have been recorded: its claim follows in a node's stream. */
const assumeAll = async (store: EventStore, cluster: ClusterState, after: bigint, open: Set<string>): Promise<void> => {
  if (open.size === 0) return;
  for await (const { type, stream, data } of store.readAll({
    after,
    filter: { streamPrefixes: [NODE_STREAM_PREFIX] },
  })) {
    const claim = data as Parameters<typeof assume>[1];
    if (type !== 'CapacityReserved' || !open.delete(claim.executionId)) continue;
    const { executionId, jobId, project, contract } = claim;
    assume(cluster, { executionId, nodeId: stream.slice(NODE_STREAM_PREFIX.length), jobId, project, contract });
    if (open.size === 0) return;
  }
};

/** The answer to "why not that node, then?" in sentences. */
export const nodeInWords = (decision: Decision, answer: NodeExplanation): string[] => {
  const { nodeId } = answer;
  switch (answer.kind) {
    case 'unknown':
      return [`At decision ${decision.number} there was no node ${nodeId}.`];
    case 'filtered':
      return [
        `At decision ${decision.number} ${nodeId} could not take the job:`,
        ...answer.reasons.map(({ description, asked, has, lifted, never }) => {
          const values = [asked && `asked ${asked}`, has && `has ${has}`].filter(Boolean).join(', ');
          return `${description}${values && ` (${values})`}${never ? '; never, as things are' : ''}; ${lifted}.`;
        }),
      ];
    case 'eligible': {
      const { place, eligible, ranked } = answer;
      const chosen = decision.winner === nodeId ? 'the one that was chosen' : `behind ${decision.winner ?? 'nobody'}`;
      const head = `At decision ${decision.number} ${nodeId} was number ${place} of ${eligible} eligible, ${chosen}, with score ${ranked.score.toFixed(3)}.`;
      return [head, ...comparedToWinner(decision, answer)];
    }
  }
};

const comparedToWinner = (
  { ranking, winner }: Decision,
  { nodeId, ranked }: Extract<NodeExplanation, { kind: 'eligible' }>,
): string[] => {
  const best = ranking.find((one) => one.nodeId === winner);
  if (!best || winner === nodeId) return [];
  const names = Object.keys(best.factors) as (keyof typeof best.factors)[];
  return names.map((name) => {
    const [there, here] = [best.factors[name], ranked.factors[name]];
    return `${name} (weight ${here.weight}): ${here.value.toFixed(2)} here, ${there.value.toFixed(2)} on ${best.nodeId}.`;
  });
};
