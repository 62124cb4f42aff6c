import type { InputRequest } from '#jobs';
import type { ClusterNode } from '../cluster/state.js';

const WAITING = 0.5;
const LATENCY = 0.2;
const INPUTS = 0.3;

/** An input of unknown size counts as this many bytes. */
const NOMINAL_INPUT = 64 * 1024 ** 2;

/** With so many bytes to fetch, the part for inputs is halved. */
const HALVING_BYTES = 1024 ** 3;

/** No event tells a node's latency yet, so that every node has the same, best class. */
const LATENCY_VALUE = 1;

/**
 * Queue and latency. Raw, from 0 up: reservations on the node whose task has not begun. The value, in 0…1, is 50 %
 * 1 ÷ (1 + raw), 20 % the latency class (the same for all until nodes report one), and 30 % what the node has of the
 * inputs: 1 when nothing is left to fetch, ½ at 1 GiB. A node has what an execution on it fetched before, as far as the
 * events tell; its cache may have dropped it since.
 */
export const queueValue = (node: ClusterNode, inputs: readonly InputRequest[]): number =>
  WAITING / (1 + node.waiting) + LATENCY * LATENCY_VALUE + INPUTS / (1 + missingBytes(node, inputs) / HALVING_BYTES);

const missingBytes = (node: ClusterNode, inputs: readonly InputRequest[]): number => {
  let missing = 0;
  for (const { source, size } of inputs) if (!node.inputs.has(source)) missing += size ?? NOMINAL_INPUT;
  return missing;
};
