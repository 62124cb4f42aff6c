import { contractFor } from '#governor/budget';
import type { Contract } from '#nodes';
import type { JobMix } from './cluster/mix.js';
import type { ClusterNode } from './cluster/state.js';
import type { Demand } from './demand.js';
import { chooseAmong } from './devices.js';

/**
 * The contract that the governor would give the job on the node now, or undefined when it has no room for it. Its devices
 * are those that leave the GPUs least fragmented, as the score of the node takes for granted.
 */
export const chooseContract = (node: ClusterNode, demand: Demand, mix: Pick<JobMix, 'typical'>): Contract | undefined =>
  contractFor(demand, node, (room, _gpu, items) => chooseAmong(room, node, demand, items, mix).devices);
