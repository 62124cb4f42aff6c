import { PROFILE_NAMES } from '#placement';
import {
  choice,
  identifier,
  line,
  list,
  Nested,
  NestedList,
  number,
  Optional,
  Required,
  size,
  text,
  whole,
} from '#platform/validation';
import type { Measure } from '#platform/validation';
import type { JobType } from '../../domain/job-spec.js';
import { constraint } from '../placement-syntax.js';
import {
  digestsFit,
  distinctJobs,
  belowNoFile,
  distinctPaths,
  insidePath,
  intervalsRise,
  labels,
  minWithinSize,
  programOrImage,
  shareOfOne,
  someWeight,
  timeoutsFit,
} from '../rules.js';
import {
  BatchDto,
  BudgetDto,
  DependencyDto,
  EstimateDto,
  GpuDto,
  InputDto,
  MAX_CORES,
  MILLI,
  PreferenceDto,
  RetryDto,
  SoftwareDto,
  TaskDto,
  TimeoutsDto,
  WeightsDto,
} from './job-parts.dto.js';

const architecture = text({ max: 32, form: /^[A-Za-z0-9_-]+$/, says: 'an architecture such as x64 or arm64' });

export class ResourcesDto {
  @Optional(number({ min: MILLI, max: MAX_CORES, step: MILLI }))
  cpu?: number;

  @Optional(size(1))
  memory?: Measure;

  @Optional(size())
  disk?: Measure;

  @Optional(whole(0, 1000))
  ioSlots?: number;

  @Nested(() => GpuDto, { optional: true, rules: [shareOfOne] })
  gpu?: GpuDto;
}

/** A job file, as YAML or JSON becomes it. */
export class JobSpecDto {
  @Required(line())
  name!: string;

  @Required(identifier)
  project!: string;

  @Optional(choice(['batch', 'ops', 'service', 'daemon']))
  type?: JobType;

  @Optional(whole(1, 10_000))
  count?: number;

  @Optional(whole(0, 100))
  priority?: number;

  @Nested(() => SoftwareDto, { optional: true })
  application?: SoftwareDto;

  @NestedList(() => SoftwareDto, { optional: true })
  packages?: readonly SoftwareDto[];

  @Optional(list(architecture, { max: 16 }))
  architecture?: readonly string[];

  @Optional(list(constraint, { max: 100 }))
  constraints?: readonly string[];

  @NestedList(() => PreferenceDto, { optional: true, max: 100 })
  preferences?: readonly PreferenceDto[];

  @Nested(() => ResourcesDto, { optional: true })
  resources?: ResourcesDto;

  @Nested(() => EstimateDto, { optional: true })
  estimate?: EstimateDto;

  @Nested(() => BatchDto, { optional: true, rules: [minWithinSize] })
  batch?: BatchDto;

  @Nested(() => TaskDto, { rules: [programOrImage] })
  task!: TaskDto;

  @NestedList(() => InputDto, { optional: true, rules: [distinctPaths, belowNoFile, digestsFit] })
  inputs?: readonly InputDto[];

  @Optional(list(insidePath))
  outputs?: readonly string[];

  /** `weights` take the place of one. */
  @Optional(choice(PROFILE_NAMES))
  profile?: string;

  @Nested(() => WeightsDto, { optional: true, rules: [someWeight] })
  weights?: WeightsDto;

  @Nested(() => BudgetDto, { optional: true })
  budget?: BudgetDto;

  @NestedList(() => DependencyDto, { optional: true, rules: [distinctJobs] })
  dependsOn?: readonly DependencyDto[];

  @Nested(() => RetryDto, { optional: true, rules: [intervalsRise] })
  retry?: RetryDto;

  @Nested(() => TimeoutsDto, { optional: true, rules: [timeoutsFit] })
  timeouts?: TimeoutsDto;

  @Optional(labels)
  labels?: Readonly<Record<string, string>>;
}
