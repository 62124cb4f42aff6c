import {
  bytesOf,
  fault,
  line,
  list,
  mapChecked,
  Nested,
  NO_FAULTS,
  number,
  Optional,
  Required,
  size,
  validateInput,
  whole,
} from '#platform/validation';
import type { Checked, Measure, Rule } from '#platform/validation';
import type { Quota } from '../../domain/events.js';

const positive: Rule = (value) =>
  typeof value === 'number' && value <= 0 ? fault('OUT_OF_RANGE', `must be over 0, not ${value}`) : NO_FAULTS;

export class QuotaDto {
  @Optional(number({ min: 0, step: 0.001 }))
  cpu?: number;

  @Optional(size())
  memory?: Measure;

  @Optional(number({ min: 0, step: 0.001 }))
  gpus?: number;

  @Optional(whole(0, 1_000_000))
  jobs?: number;
}

/** The whole configuration of a project. */
export class ProjectConfigDto {
  @Required(line())
  institution!: string;

  @Required(list(line(), { max: 10_000, unique: (member) => member }))
  members!: readonly string[];

  @Nested(() => QuotaDto, { optional: true })
  quota?: QuotaDto;

  @Optional(number({ max: 1_000_000 }), positive)
  weight?: number;
}

export interface ProjectConfig {
  readonly institution: string;
  readonly members: readonly string[];
  readonly quota: Quota;
  readonly weight: number;
}

const toQuota = ({ cpu, memory, gpus, jobs }: QuotaDto): Quota => ({
  ...(cpu !== undefined && { cpu }),
  ...(memory !== undefined && { memory: bytesOf(memory) }),
  ...(gpus !== undefined && { gpus }),
  ...(jobs !== undefined && { jobs }),
});

/** Defaults: no bound, and the ordinary weight 1. */
export const parseProjectConfig = (input: unknown): Checked<ProjectConfig> =>
  mapChecked(validateInput(ProjectConfigDto, input), ({ institution, members, quota, weight = 1 }) => ({
    institution,
    members: [...members],
    quota: quota ? toQuota(quota) : {},
    weight,
  }));
