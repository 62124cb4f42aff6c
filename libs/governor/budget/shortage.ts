import { LACKING } from './needs.js';
import type { Need, ShortageCode } from './needs.js';
import type { Machine } from './machine.js';

/** One thing of which more was asked than is free. Amounts in the units of a contract; `message` names them. */
export interface Shortage {
  readonly code: ShortageCode;
  readonly asked: number;
  readonly free: number;
  readonly message: string;
}

/** What a machine is short of, in words; of what it never has enough, as if nothing were held. */
export const shortageOf = (need: Need, machine: Machine): Shortage => {
  const { code, asked } = need;
  if (need.kind === 'devices') {
    const free = need.found(machine);
    return { code, asked, free, message: need.words(free) };
  }
  const { unit, what } = need;
  const total = need.total(machine);
  const left = Math.max(0, need.standing(machine) === LACKING ? total : need.free(machine)) / unit;
  return {
    code,
    asked: asked / unit,
    free: left,
    message: `${what}: asked ${asked / unit}, ${left} of ${total / unit} free`,
  };
};
