import type { LatencyClass } from '#nodes';
import type { ClusterNode } from '../cluster/state.js';
import type { InputsThere } from '../inputs.js';

const WAITING = 0.5;
const LATENCY = 0.2;
const INPUTS = 0.3;

/** With so many bytes to fetch, the part for inputs is halved. */
const HALVING_BYTES = 1024 ** 3;

/** What a class is worth, in 0…1. A node of which it is not known yet is neither the best nor the worst. */
const LATENCY_VALUES: Readonly<Record<LatencyClass, number>> = { local: 1, near: 0.8, far: 0.5, remote: 0.2 };
const UNKNOWN_LATENCY = 0.65;

/**
 * Queue and latency. Raw, from 0 up: reservations on the node whose task has not begun. The value, in 0…1, is 50 %
 * 1 ÷ (1 + raw), 20 % the latency class, and 30 % what the node has of the inputs: 1 when nothing is left to fetch, ½ at
 * 1 GiB. What it has is what its agent says that it keeps; of one that says nothing, what executions on it fetched before.
 */
export const queueValue = (node: ClusterNode, { missing }: InputsThere): number =>
  WAITING / (1 + node.waiting) + LATENCY * latencyValue(node) + INPUTS / (1 + missing / HALVING_BYTES);

const latencyValue = ({ latencyClass }: ClusterNode): number =>
  latencyClass === undefined ? UNKNOWN_LATENCY : LATENCY_VALUES[latencyClass];
