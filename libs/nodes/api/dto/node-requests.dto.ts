import type { CacheRequest, EnrollRequest, HeartbeatRequest } from '#contracts';
import type { Instant } from '#kernel';
import {
  bytesOf,
  instantOf,
  instantRule,
  line,
  list,
  mapChecked,
  Nested,
  number,
  Optional,
  Required,
  size,
  text,
  validateInput,
} from '#platform/validation';
import type { Checked, Measure } from '#platform/validation';
import { MOST_CACHED } from '../../domain/cache.js';
import { INVENTORY_LIMITS, InventoryDto, toInventory } from './inventory.dto.js';
import { PolicyDto, toPolicy } from './policy.dto.js';

/* What agents, owners and operators ask of a node. */

const NO_REASON = 'no reason given';
const nodeName = text({
  max: 63,
  form: /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/,
  says: 'lower-case letters, digits and dashes, with a letter or digit at both ends',
});

export class EnrollDto {
  @Required(nodeName)
  name!: string;

  @Required(line())
  owner!: string;

  @Required(line())
  institution!: string;

  @Nested(() => InventoryDto)
  inventory!: InventoryDto;

  @Nested(() => PolicyDto, { optional: true })
  policy?: PolicyDto;
}

export class HeartbeatDto {
  @Required(list(text({ max: 200 }), { max: 2000 }))
  executions!: readonly string[];

  @Optional(size())
  freeMemory?: Measure;

  @Optional(size())
  freeDisk?: Measure;

  @Optional(number({ min: 0 }))
  load?: number;

  @Optional(number({ min: 0, max: 3600 }))
  roundTrip?: number;
}

export class CacheDto {
  @Required(
    list(text({ max: 64, form: /^[0-9a-f]{64}$/, says: '64 lower-case hexadecimal digits' }), { max: MOST_CACHED }),
  )
  inputs!: readonly string[];
}

const reason = text({ min: 0, max: 1000 });

export class ReasonDto {
  @Optional(reason)
  reason?: string;
}

export class DrainDto {
  @Optional(reason)
  reason?: string;

  @Optional(instantRule)
  deadline?: string;
}

export const parseEnrollment = (input: unknown): Checked<EnrollRequest> =>
  mapChecked(validateInput(EnrollDto, input, INVENTORY_LIMITS), ({ name, owner, institution, inventory, policy }) => ({
    name,
    owner,
    institution,
    inventory: toInventory(inventory),
    ...(policy && { policy: toPolicy(policy) }),
  }));

export const parseHeartbeat = (input: unknown): Checked<HeartbeatRequest> =>
  mapChecked(validateInput(HeartbeatDto, input), ({ executions, freeMemory, freeDisk, load, roundTrip }) => ({
    executions: [...executions],
    ...(freeMemory !== undefined && { freeMemory: bytesOf(freeMemory) }),
    ...(freeDisk !== undefined && { freeDisk: bytesOf(freeDisk) }),
    ...(load !== undefined && { load }),
    ...(roundTrip !== undefined && { roundTrip }),
  }));

export const parseCache = (input: unknown): Checked<CacheRequest> =>
  mapChecked(validateInput(CacheDto, input), ({ inputs }) => ({ inputs: [...new Set(inputs)] }));

const reasonOf = (given: string | undefined): string => given?.trim() || NO_REASON;

/** An absent body is one without a reason, which the history then says. */
export const parseReason = (input: unknown): Checked<{ readonly reason: string }> =>
  mapChecked(validateInput(ReasonDto, input ?? {}), (given) => ({ reason: reasonOf(given.reason) }));

/** `deadline`: when what still runs is stopped; without one it may run to its end. */
export const parseDrain = (input: unknown): Checked<{ readonly reason: string; readonly deadline?: Instant }> =>
  mapChecked(validateInput(DrainDto, input ?? {}), (given) => ({
    reason: reasonOf(given.reason),
    ...(given.deadline !== undefined && { deadline: instantOf(given.deadline) }),
  }));
