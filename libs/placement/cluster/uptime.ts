import type { Millis } from '#kernel';
import { decay } from './decay.js';

/** Decayed milliseconds of presence and absence as of `at`, and which of the two goes on since. */
export interface Uptime {
  present: number;
  absent: number;
  online: boolean;
  at: Millis;
}

/** What a node is credited before it has a history: a day, nine tenths of it present. */
const CREDIT: Millis = 86_400_000;
const CREDIT_PRESENT = 0.9;

export const emptyUptime = (at: Millis): Uptime => ({ present: 0, absent: 0, online: false, at });

export const presenceChanged = (uptime: Uptime, online: boolean, at: Millis): void => {
  const span = Math.max(0, at - uptime.at);
  const left = decay(span);
  uptime.present = uptime.present * left + (uptime.online ? span : 0);
  uptime.absent = uptime.absent * left + (uptime.online ? 0 : span);
  uptime.online = online;
  uptime.at = Math.max(uptime.at, at);
};

/** Share of the recent past in which the node was online, in 0…1. */
export const presenceShare = (uptime: Uptime, at: Millis): number => {
  const span = Math.max(0, at - uptime.at);
  const left = decay(span);
  const present = uptime.present * left + (uptime.online ? span : 0);
  const absent = uptime.absent * left + (uptime.online ? 0 : span);
  return (present + CREDIT * CREDIT_PRESENT) / (present + absent + CREDIT);
};
