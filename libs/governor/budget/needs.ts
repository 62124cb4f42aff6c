import { lacks } from './devices.js';
import type { Amounts, Machine } from './machine.js';

/** Stable codes of what can be short; the same as the reasons of placement where they mean the same. */
export type ShortageCode =
  | 'capacity.cpu'
  | 'capacity.memory'
  | 'capacity.disk'
  | 'capacity.io-slots'
  | 'capacity.gpu-count'
  | 'capacity.gpu-model'
  | 'capacity.gpu-memory'
  | 'capacity.gpu-free'
  | 'capacity.gpu-device';

/**
 * How a machine stands to a need: free now; there, but held; not even there when nothing is held. Numbers, because
 * millions are asked for in a second.
 */
export const FREE = 0;
export const HELD = 1;
export const LACKING = 2;
export type Standing = typeof FREE | typeof HELD | typeof LACKING;

/** One thing that a demand needs of a machine. The machine grants it when it stands `FREE` to all needs, and only then. */
export type Need = AmountNeed | DeviceNeed;

interface Needed {
  readonly code: ShortageCode;
  /** Neither allocates nor parses. */
  readonly standing: (machine: Machine) => Standing;
}

/** So much of what is counted: `asked` in whole numbers, `unit` of which make one in a contract. */
export interface AmountNeed extends Needed {
  readonly kind: 'amount';
  readonly what: string;
  readonly asked: number;
  readonly unit: number;
  readonly total: (machine: Machine) => number;
  /** Below 0 where more is held than there is. */
  readonly free: (machine: Machine) => number;
}

/** `asked` devices that have something. */
export interface DeviceNeed extends Needed {
  readonly kind: 'devices';
  readonly asked: number;
  readonly found: (machine: Machine) => number;
  /** Says that only so many were found. */
  readonly words: (found: number) => string;
}

/** Nothing is needed where nothing is asked for, not even of what is over-committed. */
export const amountNeeds = (code: ShortageCode, key: keyof Amounts, asked: number, unit = 1): AmountNeed[] =>
  asked <= 0
    ? []
    : [
        {
          kind: 'amount',
          code,
          what: key,
          asked,
          unit,
          total: ({ total }) => total[key],
          free: ({ total, used }) => total[key] - used[key],
          standing: ({ total, used }) => standingOf(asked, total[key], total[key] - used[key]),
        },
      ];

export const standingOf = (asked: number, total: number, free: number): Standing =>
  lacks(asked, total) ? LACKING : lacks(asked, free) ? HELD : FREE;
