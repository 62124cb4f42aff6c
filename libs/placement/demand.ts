import { toMilli } from '#kernel';
import type { JobSpec, Preference, SoftwareRequirement } from '#jobs';
import { foldArchitecture } from './requirements/architecture-name.js';
import { parseConstraint } from './requirements/constraint.js';
import type { Constraint } from './requirements/constraint.js';
import { parseVersionRange } from './requirements/version-range.js';
import type { VersionRange } from './requirements/version-range.js';

/** A requirement on software, read. `range` is absent when any known version will do, `unreadable` when none ever can. */
export interface SoftwareDemand {
  readonly name: string;
  readonly range: VersionRange | undefined;
  readonly unreadable: boolean;
  readonly text: string;
}

interface ConstraintDemand {
  readonly text: string;
  /** Absent for a text that does not parse: it never holds. */
  readonly constraint: Constraint | undefined;
}

export interface PreferenceDemand {
  readonly constraint: Constraint;
  /** 0…1. */
  readonly strength: number;
}

/** `share` in thousandths. `memory` for each device, before what a batch adds; absent: the share's part of the device. */
export interface GpuDemand {
  readonly count: number;
  readonly share: number;
  readonly memory: number | undefined;
  readonly memoryPerItem: number;
  /** Lower case; empty accepts any. */
  readonly models: ReadonlySet<string>;
}

/**
 * A job's requirements in whole numbers and parsed, made once for each spec. A job that works in batches needs
 * `memory = resources.memory + items × memoryPerItem`, and so for each GPU; it fits a node that can take `minItems`, and
 * is granted as many up to `maxItems` as fit.
 */
export interface Demand {
  readonly cpu: number;
  readonly memory: number;
  readonly memoryPerItem: number;
  readonly minItems: number;
  readonly maxItems: number;
  readonly batched: boolean;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpu: GpuDemand | undefined;
  readonly application: SoftwareDemand | undefined;
  readonly packages: readonly SoftwareDemand[];
  readonly architectures: ReadonlySet<string>;
  readonly constraints: readonly ConstraintDemand[];
  readonly preferences: readonly PreferenceDemand[];
}

const demands = new WeakMap<JobSpec, Demand>();

/** Remembered by the spec's identity; a spec never changes. */
export const demandOf = (spec: JobSpec): Demand => {
  const known = demands.get(spec);
  if (known) return known;
  const demand = read(spec);
  demands.set(spec, demand);
  return demand;
};

const read = (spec: JobSpec): Demand => ({
  cpu: toMilli(spec.resources.cpu),
  memory: spec.resources.memory,
  memoryPerItem: spec.batch?.memoryPerItem ?? 0,
  minItems: spec.batch?.min ?? 0,
  maxItems: spec.batch?.size ?? 0,
  batched: spec.batch !== undefined,
  disk: spec.resources.disk,
  ioSlots: spec.resources.ioSlots,
  gpu: gpuDemand(spec),
  application: spec.application && softwareDemand(spec.application),
  packages: spec.packages.map(softwareDemand),
  architectures: new Set(spec.architecture.map(foldArchitecture)),
  constraints: spec.constraints.map(constraintDemand),
  preferences: spec.preferences.flatMap(preferenceDemand),
});

const gpuDemand = ({ resources: { gpu }, batch }: JobSpec): GpuDemand | undefined =>
  gpu && gpu.count > 0
    ? {
        count: gpu.count,
        share: toMilli(gpu.share),
        memory: gpu.memory,
        memoryPerItem: batch?.gpuMemoryPerItem ?? 0,
        models: new Set(gpu.models.map((model) => model.toLowerCase())),
      }
    : undefined;

const softwareDemand = ({ name, version }: SoftwareRequirement): SoftwareDemand => {
  const parsed = version === undefined ? undefined : parseVersionRange(version);
  return {
    name,
    range: parsed?.kind === 'range' ? parsed.range : undefined,
    unreadable: parsed?.kind === 'problem',
    text: version === undefined ? name : `${name} ${version}`,
  };
};

const constraintDemand = (text: string): ConstraintDemand => {
  const parsed = parseConstraint(text);
  return { text, constraint: parsed.kind === 'constraint' ? parsed.constraint : undefined };
};

const preferenceDemand = ({ constraint, weight }: Preference): PreferenceDemand[] => {
  const parsed = parseConstraint(constraint);
  return parsed.kind === 'constraint' ? [{ constraint: parsed.constraint, strength: weight / 100 }] : [];
};

/** Bytes of memory with a batch of so many items. */
export const memoryFor = (demand: Demand, items: number): number => demand.memory + items * demand.memoryPerItem;
