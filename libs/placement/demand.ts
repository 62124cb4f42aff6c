import { demandOf as budgetDemandOf } from '#governor/budget';
import type { Demand as BudgetDemand } from '#governor/budget';
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

/**
 * A job's requirements in whole numbers and parsed, made once for each spec. Amounts are the governor's demand; a job that
 * works in batches fits a node that can take its smallest one.
 */
export interface Demand extends BudgetDemand {
  readonly application: SoftwareDemand | undefined;
  readonly packages: readonly SoftwareDemand[];
  /** Whether it runs in a container. */
  readonly container: boolean;
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
  ...budgetDemandOf(spec),
  application: spec.application && softwareDemand(spec.application),
  packages: spec.packages.map(softwareDemand),
  container: spec.task.image !== undefined,
  architectures: new Set(spec.architecture.map(foldArchitecture)),
  constraints: spec.constraints.map(constraintDemand),
  preferences: spec.preferences.flatMap(preferenceDemand),
});

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
