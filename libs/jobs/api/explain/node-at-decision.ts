import type { EventStore } from '#event-store';
import { explainNode, inputsInWords } from '#placement';
import type { ClusterState, NodeExplanation } from '#placement';
import { isOfDecision, pointsOf } from '#scheduling';
import type { Seen } from '#scheduling';
import type { Decision } from '../../domain/decision.js';

/**
 * What a node came to when a decision was made: everything that it was made from is derived again from the log, and the same
 * checks and scores are asked. Takes as long as reading the log.
 */
export const explainNodeAt = async (
  store: EventStore,
  jobId: string,
  decision: Decision,
  node: string,
  seen: Seen,
): Promise<NodeExplanation> => {
  const recorded = { jobId, position: BigInt(decision.position), decision };
  for await (const point of pointsOf(store, [recorded], seen)) {
    if (!isOfDecision(point) || !point.request) continue;
    const { request, cluster } = point;
    return explainNode(request, cluster, { time: decision.time }, nodeIdOf(cluster, node));
  }
  return { kind: 'unknown', nodeId: node };
};

/** A node is asked for by its id, or by the name that it had. */
const nodeIdOf = ({ nodes }: ClusterState, node: string): string => {
  if (nodes.has(node)) return node;
  for (const { id, name } of nodes.values()) if (name === node) return id;
  return node;
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
      const inputs = ranked.inputs ? [`It had ${inputsInWords(ranked.inputs)}.`] : [];
      return [head, ...comparedToWinner(decision, answer), ...inputs];
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
