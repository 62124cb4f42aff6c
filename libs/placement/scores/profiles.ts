import type { JobSpec, Weights } from '#jobs';
import { formatSeconds } from '../units.js';

/** How the resources factor looks at a node: fill it up, or spread over many. */
export type Strategy = 'pack' | 'spread';

export interface Profile {
  readonly name: string;
  readonly weights: Weights;
  readonly strategy: Strategy;
  /** For what kind of job. */
  readonly purpose: string;
}

const profile = (
  name: string,
  purpose: string,
  [resources, reliability, availability, queue, cost]: readonly [number, number, number, number, number],
  strategy: Strategy = 'pack',
): Profile => ({ name, purpose, strategy, weights: { resources, reliability, availability, queue, cost } });

/** Weights add up to 100. `balanced` is the composition that the requirements give as their example. */
export const PROFILES = {
  balanced: profile('balanced', 'nothing stands out', [30, 25, 20, 15, 10]),
  cpu: profile('cpu', 'many cores', [40, 20, 20, 15, 5]),
  gpu: profile('gpu', 'GPUs: a good fit matters most, for they are scarce', [45, 20, 15, 15, 5]),
  memory: profile('memory', 'much memory', [45, 20, 20, 10, 5]),
  interactive: profile('interactive', 'someone waits: start soon, on a node with room', [15, 20, 20, 40, 5], 'spread'),
  long: profile('long', 'long runs: what fails late costs most', [20, 35, 30, 5, 10]),
  cheap: profile('cheap', 'cost before time', [15, 20, 10, 10, 45]),
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof PROFILES;

export const PROFILE_NAMES = Object.keys(PROFILES) as readonly ProfileName[];

/** Changes whenever a profile's weights do, so that a recorded decision tells which it was made with. */
export const WEIGHTS_VERSION = 'profiles/1';

/** A profile as chosen for a job, and why. */
export interface ChosenProfile extends Pick<Profile, 'name' | 'weights' | 'strategy'> {
  readonly from: string;
  readonly version: string;
}

const CUSTOM_VERSION = 'custom';

/** Whether a decision with these weights can be made again by this program. */
export const isPresentWeights = (version: string): boolean => version === WEIGHTS_VERSION || version === CUSTOM_VERSION;

const GIB = 1024 ** 3;

const sumOf = (weights: Weights): number =>
  weights.resources + weights.reliability + weights.availability + weights.queue + weights.cost;

const chosen = new WeakMap<JobSpec, ChosenProfile>();

/**
 * Weights of the job's own come first, then the profile it names, then what its estimate and resources suggest. A request
 * that carries both keeps the strategy of the profile: so the same job is asked about with other weights.
 */
export const profileOf = (spec: JobSpec): ChosenProfile => {
  const known = chosen.get(spec);
  if (known) return known;
  const choice = choose(spec);
  chosen.set(spec, choice);
  return choice;
};

const choose = (spec: JobSpec): ChosenProfile => {
  const choice = chooseNamed(spec);
  return spec.type === 'service' ? { ...choice, strategy: 'spread' } : choice;
};

const chooseNamed = (spec: JobSpec): ChosenProfile => {
  const { weights, profile: name } = spec;
  if (weights && sumOf(weights) > 0) {
    const strategy = name !== undefined && isProfile(name) ? PROFILES[name].strategy : 'pack';
    return { name: 'custom', weights, strategy, from: "the job's own weights", version: CUSTOM_VERSION };
  }
  if (name !== undefined && isProfile(name)) return take(name, 'named by the job');
  return derive(spec);
};

const isProfile = (name: string): name is ProfileName => Object.hasOwn(PROFILES, name);

const take = (name: ProfileName, from: string): ChosenProfile => ({
  ...PROFILES[name],
  from,
  version: WEIGHTS_VERSION,
});

/** The first that holds; the bounds are part of `ALGORITHM`'s version. */
const derive = (spec: JobSpec): ChosenProfile => {
  const { cpu, memory, gpu } = spec.resources;
  const { duration } = spec.estimate;
  if (gpu && gpu.count > 0) return take('gpu', `derived from resources.gpu: ${gpu.count} × ${gpu.share}`);
  if (spec.type === 'ops') return take('interactive', 'derived from type: ops');
  if (duration !== undefined && duration >= 43_200)
    return take('long', `derived from estimate.duration: ${formatSeconds(duration)}`);
  if (memory >= 32 * GIB && memory >= cpu * 8 * GIB)
    return take('memory', `derived from resources.memory: ${memory / GIB} GiB`);
  if (cpu >= 8) return take('cpu', `derived from resources.cpu: ${cpu}`);
  return take('balanced', 'derived: nothing in the estimate stands out');
};
