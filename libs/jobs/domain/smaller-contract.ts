import { toMilli } from '#kernel';
import type { Contract, GrantedGpu } from '#nodes';

/**
 * Whether a contract asks in no part for more than the one reserved, for the same devices, and with at least one item where
 * it works in batches. What it may not say: that more is held than is.
 */
export const isWithin = (contract: Contract, reserved: Contract): boolean =>
  toMilli(contract.cpu) <= toMilli(reserved.cpu) &&
  contract.memory <= reserved.memory &&
  contract.disk <= reserved.disk &&
  contract.ioSlots <= reserved.ioSlots &&
  (contract.batchSize === undefined) === (reserved.batchSize === undefined) &&
  (contract.batchSize ?? 0) <= (reserved.batchSize ?? 0) &&
  contract.gpus.length === reserved.gpus.length &&
  contract.gpus.every((gpu, index) => isPartOf(gpu, reserved.gpus[index]));

const isPartOf = ({ id, share, memory }: GrantedGpu, reserved: GrantedGpu | undefined): boolean =>
  reserved?.id === id && toMilli(share) <= toMilli(reserved.share) && memory <= reserved.memory;

export const isSame = (left: Contract, right: Contract): boolean => isWithin(left, right) && isWithin(right, left);
