import { fromMilli, toMilli } from '#kernel';
import type { JobSpec } from '#jobs';
import type { ClusterNode } from '../cluster/state.js';
import type { ReasonCode } from '../filters/reasons.js';
import { foldArchitecture } from '../requirements/architecture-name.js';
import { formatBytes, formatSeconds } from '../units.js';

/** What is given up by a change, the least first: some of an amount, a bound on what will do, a requirement as a whole. */
export type Sacrifice = 'amount' | 'widened' | 'dropped';

/**
 * One requirement of a job that could be less demanding, in steps from 1, the least change, to `steps`, the most. What a step
 * lets in, every later one does too.
 */
export interface Knob {
  readonly requirement: string;
  readonly sacrifice: Sacrifice;
  /** The reasons that it may lift. */
  readonly lifts: readonly ReasonCode[];
  readonly steps: number;
  readonly from: string;
  to(step: number): string;
  /** 0…1: how much of what was asked for is given up. */
  share(step: number): number;
  apply(spec: JobSpec, step: number): JobSpec;
}

const MIB = 1024 ** 2;
const GPU: readonly ReasonCode[] = [
  'capacity.gpu-count',
  'capacity.gpu-model',
  'capacity.gpu-memory',
  'capacity.gpu-free',
  'quota.gpus',
  'budget.price',
];

/** Everything that could be asked less of, given what the nodes at hand have. In the order in which ties are broken. */
export const knobsOf = (spec: JobSpec, nodes: readonly ClusterNode[]): readonly Knob[] => [
  ...amountKnobs(spec),
  ...gpuAmountKnobs(spec),
  ...timeAndMoneyKnobs(spec),
  ...widenedKnobs(spec, nodes),
  ...droppedKnobs(spec),
];

interface Amount {
  readonly requirement: string;
  readonly lifts: readonly ReasonCode[];
  /** Now, and the least that makes sense, in units of `unit`. */
  readonly now: number;
  readonly least: number;
  readonly unit: number;
  readonly text: (value: number) => string;
  readonly set: (spec: JobSpec, value: number) => JobSpec;
}

/** An amount that goes down, on whole units. */
const lowered = ({ requirement, lifts, now, least, unit, text, set }: Amount): Knob[] => {
  const first = Math.ceil(now / unit) - 1;
  const steps = first - Math.ceil(least / unit) + 1;
  const value = (step: number): number => (first - (step - 1)) * unit;
  if (steps < 1) return [];
  return [
    {
      requirement,
      lifts,
      steps,
      sacrifice: 'amount',
      from: text(now),
      to: (step) => text(value(step)),
      share: (step) => 1 - value(step) / now,
      apply: (given, step) => set(given, value(step)),
    },
  ];
};

const withResources = (spec: JobSpec, change: Partial<JobSpec['resources']>): JobSpec => ({
  ...spec,
  resources: { ...spec.resources, ...change },
});

const amountKnobs = (spec: JobSpec): Knob[] => [...computingKnobs(spec), ...storageKnobs(spec), ...batchKnobs(spec)];

const computingKnobs = ({ resources }: JobSpec): Knob[] => [
  ...lowered({
    requirement: 'resources.cpu',
    lifts: ['capacity.cpu', 'quota.cpu', 'policy.max-share', 'budget.price', 'pool.would-delay'],
    now: toMilli(resources.cpu),
    least: 1,
    unit: 1,
    text: (milli) => String(fromMilli(milli)),
    set: (spec, milli) => withResources(spec, { cpu: fromMilli(milli) }),
  }),
  ...lowered({
    requirement: 'resources.memory',
    lifts: ['capacity.memory', 'quota.memory', 'budget.price', 'pool.would-delay'],
    now: resources.memory,
    least: MIB,
    unit: MIB,
    text: formatBytes,
    set: (spec, memory) => withResources(spec, { memory }),
  }),
];

const storageKnobs = ({ resources }: JobSpec): Knob[] => [
  ...lowered({
    requirement: 'resources.disk',
    lifts: ['capacity.disk', 'pool.would-delay'],
    now: resources.disk,
    least: 0,
    unit: MIB,
    text: formatBytes,
    set: (spec, disk) => withResources(spec, { disk }),
  }),
  ...lowered({
    requirement: 'resources.ioSlots',
    lifts: ['capacity.io-slots', 'pool.would-delay'],
    now: resources.ioSlots,
    least: 0,
    unit: 1,
    text: String,
    set: (spec, ioSlots) => withResources(spec, { ioSlots }),
  }),
];

const batchKnobs = ({ batch }: JobSpec): Knob[] =>
  lowered({
    requirement: 'batch.min',
    lifts: ['capacity.memory', 'capacity.gpu-memory', 'capacity.gpu-free', 'quota.memory'],
    now: batch?.min ?? 0,
    least: 1,
    unit: 1,
    text: String,
    set: (spec, min) => (spec.batch ? { ...spec, batch: { ...spec.batch, min } } : spec),
  });

type Gpu = NonNullable<JobSpec['resources']['gpu']>;

const withGpu = (spec: JobSpec, change: Partial<Gpu>): JobSpec =>
  spec.resources.gpu ? withResources(spec, { gpu: { ...spec.resources.gpu, ...change } }) : spec;

const gpuAmountKnobs = ({ resources: { gpu } }: JobSpec): Knob[] => {
  if (!gpu || gpu.count === 0) return [];
  const count: Amount = {
    requirement: 'resources.gpu.count',
    lifts: GPU,
    now: gpu.count,
    least: 1,
    unit: 1,
    text: String,
    set: (spec, value) => withGpu(spec, { count: value }),
  };
  const share: Amount = {
    requirement: 'resources.gpu.share',
    lifts: ['capacity.gpu-free', 'capacity.gpu-memory', 'quota.gpus', 'budget.price'],
    now: gpu.count === 1 ? toMilli(gpu.share) : 0,
    least: 1,
    unit: 1,
    text: (milli) => String(fromMilli(milli)),
    set: (spec, milli) => withGpu(spec, { share: fromMilli(milli) }),
  };
  const memory: Amount = {
    requirement: 'resources.gpu.memory',
    lifts: ['capacity.gpu-memory', 'capacity.gpu-free'],
    now: gpu.memory ?? 0,
    least: MIB,
    unit: MIB,
    text: formatBytes,
    set: (spec, value) => withGpu(spec, { memory: value }),
  };
  return [count, share, memory].flatMap(lowered);
};

/** The longest estimate that is proposed for a job that has none, in seconds. */
const LONGEST = 30 * 86_400;

const timeAndMoneyKnobs = ({ estimate, budget }: JobSpec): Knob[] => [
  {
    requirement: 'estimate.duration',
    lifts: [
      'policy.max-duration',
      'policy.window',
      'policy.window-remaining',
      'policy.maintenance-ahead',
      'budget.price',
      'budget.unknown',
      'pool.would-delay',
    ],
    sacrifice: 'amount',
    steps: Math.max(0, Math.ceil(estimate.duration ?? LONGEST + 1) - 1),
    from: estimate.duration === undefined ? 'none' : formatSeconds(estimate.duration),
    to: (step) => formatSeconds(durationAt(estimate.duration, step)),
    share: (step) =>
      estimate.duration === undefined ? 0 : 1 - durationAt(estimate.duration, step) / estimate.duration,
    apply: (spec, step) => ({ ...spec, estimate: { duration: durationAt(estimate.duration, step) } }),
  },
  ...(budget ? [budgetKnob(budget.maxCost)] : []),
];

const durationAt = (now: number | undefined, step: number): number => Math.ceil(now ?? LONGEST + 1) - step;

/** Cents, up to ten million. */
const MOST_CENTS = 1e9;

const budgetKnob = (now: number): Knob => {
  const value = (step: number): number => (Math.round(now * 100) + step) / 100;
  return {
    requirement: 'budget.maxCost',
    lifts: ['budget.price'],
    sacrifice: 'amount',
    steps: MOST_CENTS,
    from: String(now),
    to: (step) => String(value(step)),
    share: (step) => 1 - now / value(step),
    apply: (spec, step) => ({ ...spec, budget: { maxCost: value(step) } }),
  };
};

const single = (
  sacrifice: Sacrifice,
  requirement: string,
  lifts: readonly ReasonCode[],
  [from, to]: readonly [string, string],
  apply: (spec: JobSpec) => JobSpec,
): Knob => ({ requirement, sacrifice, lifts, steps: 1, from, to: () => to, share: () => 1, apply });

/** What the nodes at hand have, so that only what would be found there is proposed. */
const widenedKnobs = (spec: JobSpec, nodes: readonly ClusterNode[]): Knob[] => {
  const { application, packages, architecture, resources } = spec;
  return [
    ...(application ? versionKnobs(application, nodes) : []),
    ...packages.flatMap((software) => packageKnobs(software, nodes)),
    ...modelKnobs(resources.gpu, nodes),
    ...(architecture.length > 0 ? architectureKnobs(architecture, nodes) : []),
  ];
};

const distinct = (values: Iterable<string>): string[] => [...new Set(values)].sort();

type Software = NonNullable<JobSpec['application']>;

const rangeText = ({ name, version }: Software): string => `${name} ${version ?? ''}`;

const versionKnobs = (software: Software, nodes: readonly ClusterNode[]): Knob[] => {
  if (software.version === undefined) return [];
  const installed = nodes.flatMap(({ facts }) => facts.applications.get(software.name) ?? []);
  return distinct(installed.flatMap(({ text, version }) => (version ? [text] : []))).map((text) =>
    single('widened', 'application.version', ['software.version'], [rangeText(software), `also ${text}`], (spec) => ({
      ...spec,
      application: { name: software.name, version: `=${text}` },
    })),
  );
};

const packageKnobs = (software: Software, nodes: readonly ClusterNode[]): Knob[] => {
  if (software.version === undefined) return [];
  const installed = nodes.flatMap(({ facts }) => facts.packages.get(software.name) ?? []);
  return distinct(installed.flatMap(({ text, version }) => (version ? [text] : []))).map((text) =>
    single(
      'widened',
      `packages.${software.name}.version`,
      ['software.package'],
      [rangeText(software), `also ${text}`],
      (spec) => ({
        ...spec,
        packages: spec.packages.map((one) =>
          one.name === software.name ? { ...one, version: `${software.version ?? ''} || =${text}` } : one,
        ),
      }),
    ),
  );
};

const modelKnobs = (gpu: Gpu | undefined, nodes: readonly ClusterNode[]): Knob[] => {
  if (!gpu || gpu.models.length === 0) return [];
  const asked = new Set(gpu.models.map((model) => model.toLowerCase()));
  const others = nodes.flatMap(({ devices }) => devices.filter(({ modelKey }) => !asked.has(modelKey)));
  return distinct(others.map(({ model }) => model)).map((model) =>
    single(
      'widened',
      'resources.gpu.models',
      ['capacity.gpu-model', 'capacity.gpu-memory', 'capacity.gpu-free'],
      [gpu.models.join(' or '), `also ${model}`],
      (spec) => withGpu(spec, { models: [...gpu.models, model] }),
    ),
  );
};

const architectureKnobs = (asked: readonly string[], nodes: readonly ClusterNode[]): Knob[] => {
  const accepted = new Set(asked.map(foldArchitecture));
  const others = nodes.map(({ facts }) => facts.architecture).filter((name) => !accepted.has(name));
  return distinct(others).map((name) =>
    single('widened', 'architecture', ['architecture'], [asked.join(' or '), `also ${name}`], (spec) => ({
      ...spec,
      architecture: [...asked, name],
    })),
  );
};

const droppedKnobs = ({ task, packages, constraints, resources, budget }: JobSpec): Knob[] => [
  ...imageKnobs(task),
  ...packages.map((software) =>
    single('dropped', 'packages', ['software.package'], [rangeText(software).trim(), 'not asked for'], (spec) => ({
      ...spec,
      packages: spec.packages.filter(({ name }) => name !== software.name),
    })),
  ),
  ...constraints.map((constraint) =>
    single('dropped', 'constraints', ['constraint'], [constraint, 'not asked for'], (spec) => ({
      ...spec,
      constraints: spec.constraints.filter((text) => text !== constraint),
    })),
  ),
  ...(resources.gpu && resources.gpu.count > 0
    ? [single('dropped', 'resources.gpu', GPU, [`${resources.gpu.count} GPUs`, 'not asked for'], withoutGpu)]
    : []),
  ...(budget
    ? [
        single('dropped', 'budget', ['budget.price', 'budget.unknown'], [String(budget.maxCost), 'none'], (spec) => {
          const { budget: _budget, ...rest } = spec;
          return rest;
        }),
      ]
    : []),
];

/** Without an image the program has to be on the node, so the job must name one. */
const imageKnobs = ({ image, command }: JobSpec['task']): Knob[] =>
  image === undefined || command.length === 0
    ? []
    : [single('dropped', 'task.image', ['software.container'], [image, 'not asked for'], withoutImage)];

const withoutImage = (spec: JobSpec): JobSpec => {
  const { image: _image, ...task } = spec.task;
  return { ...spec, task };
};

const withoutGpu = (spec: JobSpec): JobSpec => {
  const { gpu: _gpu, ...resources } = spec.resources;
  return { ...spec, resources };
};
