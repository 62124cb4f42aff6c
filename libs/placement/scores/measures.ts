import { itemsOn } from '#governor/budget';
import type { Millis } from '#kernel';
import type { JobMix } from '../cluster/mix.js';
import type { ClusterNode } from '../cluster/state.js';
import { demandOf } from '../demand.js';
import { inputsOn } from '../inputs.js';
import type { InputsThere } from '../inputs.js';
import { priceOf } from '../price.js';
import type { PlacementRequest } from '../request.js';
import { availability } from './availability.js';
import { preferenceLift } from './preferences.js';
import type { Measure } from './factors.js';
import type { ChosenProfile } from './profiles.js';
import { queueValue } from './queue.js';
import { reliability, reliabilityValue } from './reliability.js';
import { resources } from './resources.js';

/** What of a node's score stays the same until the node or the mix of jobs changes. */
export interface Standing {
  readonly resources: Measure;
  readonly queue: Measure;
  readonly inputs: InputsThere;
  /** In the owner's money; its value depends on the other eligible nodes. */
  readonly cost: number;
  readonly lift: number;
}

export const standingOf = (
  node: ClusterNode,
  request: PlacementRequest,
  { strategy }: ChosenProfile,
  mix: JobMix,
): Standing => {
  const { spec } = request;
  const demand = demandOf(spec);
  const items = itemsOn(demand, node);
  const inputs = inputsOn(node, spec.inputs);
  const hours = (spec.estimate.duration ?? 3600) / 3600;
  return {
    resources: resources(node, request, strategy, mix),
    queue: { raw: node.waiting, value: queueValue(node, inputs) },
    inputs,
    cost: node.policy.price ? priceOf(node.policy.price, demand, items) * hours : 0,
    lift: preferenceLift(node, demand.preferences),
  };
};

/** What of it ages. */
export const reliabilityOf = (node: ClusterNode, { spec }: PlacementRequest, at: Millis): Measure => {
  const raw = reliability(node, spec.application?.name, at);
  return { raw, value: reliabilityValue(raw, node, spec.application?.name) };
};

export const availabilityOf = (node: ClusterNode, { spec }: PlacementRequest, at: Millis): Measure => {
  const raw = availability(node, spec, at);
  return { raw, value: raw };
};
