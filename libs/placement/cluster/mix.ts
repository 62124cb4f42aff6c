import { byText, toMilli } from '#kernel';
import type { JobSpec } from '#jobs';

/** What a job asks for, as far as it matters to what is left beside it. Whole numbers, as in `Demand`. */
export interface JobClass {
  readonly cpu: number;
  readonly memory: number;
  /** Devices, and the share of each in thousandths. */
  readonly gpus: number;
  readonly share: number;
  /** Lower case, sorted; empty accepts any. */
  readonly models: readonly string[];
  /** How often such jobs come, in `ARRIVAL`s. */
  readonly weight: number;
}

/**
 * The jobs that really arrive, by class: what fragmentation is measured against. `counts` grows with each submission;
 * `typical` is a picture of it that is taken anew when the number of arrivals reaches 1, 2, 4 … `REFRESH`, and every
 * `REFRESH` from there, so that it and its `version` change rarely. Between two pictures the order of arrivals means nothing. Plain data.
 */
export interface JobMix {
  /** 0 until the first picture. */
  version: number;
  arrivals: number;
  /** The number of arrivals at which the next picture is taken. */
  refreshAt: number;
  readonly counts: Map<string, JobClass>;
  typical: readonly JobClass[];
}

/** The weight of one arrival; fractions of it are what is left of older ones. */
const ARRIVAL = 64;
const REFRESH = 2048;
/** With each `REFRESH` arrivals the older ones count for so much less: half after about 10,000. */
const KEPT_OF_OLD = 7 / 8;
/** Classes in the picture, the most frequent first; it has to be looked through for each placement that is weighed. */
const TYPICAL_CLASSES = 128;
const COUNTED_CLASSES = 512;

const GIB = 1024 ** 3;

/**
 * What is expected while little has arrived: one whole GPU with 1 to 32 cores and 4 GiB for each core, as much as 18
 * arrivals. Without it the first jobs would be placed as if no other kind of job ever came.
 */
const EXPECTED: readonly JobClass[] = [1, 2, 4, 8, 16, 32].map((cores) => ({
  cpu: toMilli(cores),
  memory: cores * 4 * GIB,
  gpus: 1,
  share: 1000,
  models: [],
  weight: 3 * ARRIVAL,
}));

export const emptyMix = (): JobMix => ({
  version: 0,
  arrivals: 0,
  refreshAt: 1,
  counts: new Map(),
  typical: EXPECTED,
});

/** A job was submitted: one arrival, however many partitions it has, so that one large array does not crowd out the rest. */
export const jobArrived = (mix: JobMix, spec: JobSpec): void => {
  const arrived = classOf(spec);
  const key = keyOf(arrived);
  const known = mix.counts.get(key);
  mix.counts.set(key, known ? { ...known, weight: known.weight + ARRIVAL } : arrived);
  mix.arrivals += 1;
  if (mix.arrivals >= mix.refreshAt) refresh(mix);
};

const classOf = ({ resources: { cpu, memory, gpu } }: JobSpec): JobClass => {
  const gpus = gpu?.count ?? 0;
  return {
    cpu: toMilli(cpu),
    memory,
    gpus,
    share: gpu && gpus > 0 ? toMilli(gpu.share) : 0,
    models: gpus > 0 ? [...new Set(gpu?.models.map((model) => model.toLowerCase()))].sort(byText) : [],
    weight: ARRIVAL,
  };
};

const keyOf = ({ cpu, memory, gpus, share, models }: JobClass): string =>
  JSON.stringify([cpu, memory, gpus, share, models]);

const refresh = (mix: JobMix): void => {
  const ranked = [...mix.counts].sort(
    ([leftKey, left], [rightKey, right]) => right.weight - left.weight || byText(leftKey, rightKey),
  );
  mix.version += 1;
  mix.typical = [...EXPECTED, ...ranked.slice(0, TYPICAL_CLASSES).map(([, counted]) => counted)];
  mix.refreshAt = mix.arrivals < REFRESH ? mix.arrivals * 2 : mix.arrivals + REFRESH;
  if (mix.arrivals >= REFRESH) forget(mix, ranked);
};

/** Weights stay whole, so that sums of them are exact. */
const forget = (mix: JobMix, ranked: readonly (readonly [string, JobClass])[]): void => {
  mix.counts.clear();
  for (const [key, counted] of ranked.slice(0, COUNTED_CLASSES)) {
    const weight = Math.floor(counted.weight * KEPT_OF_OLD);
    if (weight > 0) mix.counts.set(key, { ...counted, weight });
  }
};
