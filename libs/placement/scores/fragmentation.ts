import { WHOLE } from '#governor/budget';
import type { Device } from '#governor/budget';
import type { JobClass, JobMix } from '../cluster/mix.js';

/*
 * GPU fragmentation after Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
 * Descent", USENIX ATC 2023.
 */

type Mix = Pick<JobMix, 'typical'>;

/** What is free of a device: thousandths that a job could be given. */
export interface FreeDevice {
  readonly model: string;
  readonly free: number;
}

/** A device is as free as the scarcer of its share and its memory: a share without memory helps nobody. */
export const freeOf = ({ modelKey, memory, usedShare, usedMemory }: Device): FreeDevice => {
  const share = WHOLE - usedShare;
  const byMemory = memory > 0 ? Math.round(((memory - usedMemory) / memory) * WHOLE) : share;
  return { model: modelKey, free: Math.max(0, Math.min(share, byMemory)) };
};

/**
 * Fragmentation of a node with so much free, in thousandths of a device: what of its free GPUs a job drawn from the mix is
 * expected not to be able to use. All of it when the job does not fit there at all (cores, memory, models or devices are
 * too few, or it asks for no GPU), else what is free of the devices that are too full or of the wrong model for it. A sum
 * of whole numbers over their total weight, so that equal nodes are equal to the bit in whatever order it is added up.
 */
export const fragmentation = (cpu: number, memory: number, devices: readonly FreeDevice[], mix: Mix): number =>
  wasted(devices, askers(cpu, memory, mix));

/** The mix as far as one amount of cores and memory can serve it. */
export interface Askers {
  readonly wishes: readonly Wish[];
  /** By wish, what part of the mix asks for it and finds cores and memory enough. */
  readonly weights: Float64Array;
  /** Of all the mix. */
  readonly total: number;
}

/** What is asked of the GPUs, and by whom. */
interface Wish {
  readonly gpus: number;
  readonly share: number;
  readonly models: readonly string[];
  /** Cores, memory and weight of each class, one after the other: looked through for every placement that is weighed. */
  readonly jobs: Float64Array;
}

export const askers = (cpu: number, memory: number, mix: Mix): Askers => {
  const { wishes, total } = wishesOf(mix);
  const weights = new Float64Array(wishes.length);
  for (let index = 0; index < wishes.length; index += 1) {
    const { jobs } = wishes[index] as Wish;
    let weight = 0;
    for (let at = 0; at < jobs.length; at += 3) {
      if ((jobs[at] as number) <= cpu && (jobs[at + 1] as number) <= memory) weight += jobs[at + 2] as number;
    }
    weights[index] = weight;
  }
  return { wishes, weights, total };
};

export const wasted = (devices: readonly FreeDevice[], { wishes, weights, total }: Askers): number => {
  let all = 0;
  for (const { free } of devices) all += free;
  let sum = 0;
  let served = 0;
  for (let index = 0; index < wishes.length; index += 1) {
    const weight = weights[index] as number;
    if (weight === 0) continue;
    sum += weight * unusable(devices, all, wishes[index] as Wish);
    served += weight;
  }
  return total > 0 ? (sum + (total - served) * all) / total : 0;
};

const unusable = (devices: readonly FreeDevice[], all: number, { gpus, share, models }: Wish): number => {
  let usable = 0;
  let lost = 0;
  for (const { model, free } of devices) {
    if (free >= share && (models.length === 0 || models.includes(model))) usable += 1;
    else lost += free;
  }
  return usable < gpus ? all : lost;
};

const pictures = new WeakMap<Mix['typical'], { readonly wishes: readonly Wish[]; readonly total: number }>();

const wishesOf = ({ typical }: Mix): { readonly wishes: readonly Wish[]; readonly total: number } => {
  const known = pictures.get(typical);
  if (known) return known;
  const classes = Map.groupBy(
    typical.filter(({ gpus }) => gpus > 0),
    ({ gpus, share, models }) => JSON.stringify([gpus, share, models]),
  );
  const picture = {
    wishes: Array.from(classes.values(), wishOf),
    total: typical.reduce((sum, { weight }) => sum + weight, 0),
  };
  pictures.set(typical, picture);
  return picture;
};

const wishOf = (classes: readonly JobClass[]): Wish => {
  const { gpus, share, models } = classes[0] as JobClass;
  return { gpus, share, models, jobs: Float64Array.from(classes.flatMap((job) => [job.cpu, job.memory, job.weight])) };
};

/** At so much growth or drop of fragmentation the squash is half way to its end. */
const HALF_WAY = 2 * WHOLE;
const STEPS = 100;

/** How coarse `conserved` is. */
export const CONSERVED_STEP = 1 / STEPS;

/**
 * What a placement conserves, in 0…1: ½ when it leaves fragmentation as it is, less when it grows, cut to whole
 * hundredths so that many placements tie. A rational squash: divisions give the same bits on every machine, exponentials
 * do not.
 */
export const conserved = (grown: number): number =>
  Math.floor((0.5 - (0.5 * grown) / (HALF_WAY + Math.abs(grown))) * STEPS) / STEPS;
