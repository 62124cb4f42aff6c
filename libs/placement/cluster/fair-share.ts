import { toMilli } from '#kernel';
import type { Millis } from '#kernel';
import type { Contract } from '#nodes';
import type { ClusterState, Shares } from './state.js';

/*
 * Who had how much, so that projects that want the same take turns. A project's share is its dominant one: the largest of
 * its parts of all CPU, memory and GPUs (Ghodsi et al., Dominant Resource Fairness, NSDI 2011). What it held lately counts
 * as in HTCondor's user priority: an average over the past in which a moment counts half as much for each half-life
 * that lies between.
 */

/** HTCondor's default: yesterday counts half as much as today. */
export const SHARE_HALF_LIFE: Millis = 86_400_000;

/** Nothing held, nothing remembered. */
export const noShares = (): Shares => ({ cpu: 0, memory: 0, gpus: 0 });

/** A recorded claim begins (1) or ends (-1) to count for its project. */
export const recordClaim = (
  cluster: ClusterState,
  project: string,
  contract: Contract,
  sign: 1 | -1,
  at: Millis,
): void => {
  const past = cluster.consumption.get(project) ?? { held: noShares(), average: noShares(), at };
  cluster.consumption.set(project, past);
  past.average = averageAt(past, at);
  past.at = Math.max(past.at, at);
  past.held.cpu += sign * toMilli(contract.cpu);
  past.held.memory += sign * contract.memory;
  for (const { share } of contract.gpus) past.held.gpus += sign * toMilli(share);
};

/**
 * A project's dominant share in 0…1 over its weight, at a time: the mean of what it holds now (reservations under way
 * too) and of what it held lately, so that a flood counts at once and is remembered after it has gone.
 */
export const projectShare = (cluster: ClusterState, project: string, at: Millis): number => {
  const past = cluster.consumption.get(project);
  const average = past ? averageAt(past, at) : noShares();
  const now = cluster.usage.get(project) ?? noShares();
  const part = (key: keyof Shares): number =>
    cluster.capacity[key] > 0 ? (average[key] + now[key]) / 2 / cluster.capacity[key] : 0;
  const weight = cluster.projects.get(project)?.weight ?? 1;
  return Math.max(part('cpu'), part('memory'), part('gpus')) / weight;
};

const averageAt = (past: { held: Shares; average: Shares; at: Millis }, at: Millis): Shares => {
  const left = remaining(at - past.at);
  const mix = (key: keyof Shares): number => past.average[key] * left + past.held[key] * (1 - left);
  return { cpu: mix('cpu'), memory: mix('memory'), gpus: mix('gpus') };
};

const LN2 = 0.6931471805599453;
/** Terms of e⁻ˣ for x < ln 2: the first left out is below 10⁻¹². */
const TERMS = 13;

/**
 * ½ for each half-life, smooth in between: whether a span is taken at once or in many pieces makes no difference, unlike
 * the straight line of `decay`. Only what every machine rounds alike: no power function.
 */
const remaining = (elapsed: Millis): number => {
  if (!(elapsed > 0)) return 1;
  const halves = Math.min(elapsed / SHARE_HALF_LIFE, 60);
  const whole = Math.floor(halves);
  const rest = (halves - whole) * LN2;
  let left = 1;
  for (let term = TERMS; term > 0; term -= 1) left = 1 - (rest * left) / term;
  for (let count = 0; count < whole; count += 1) left *= 0.5;
  return left;
};
