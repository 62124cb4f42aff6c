import { FACTORS, FAILURE_CLASSES } from '#jobs';
import {
  choice,
  duration,
  flag,
  identifier,
  line,
  list,
  Nested,
  number,
  Optional,
  Required,
  size,
  text,
  whole,
} from '#platform/validation';
import type { Measure } from '#platform/validation';
import { constraint, versionRange } from '../placement-syntax.js';
import { environment, imageReference, inputSource, insidePath, MAX_ARGUMENT, overOne, sha256 } from '../rules.js';

/* The parts of a job file, as it is sent: sizes and durations as text or number, what has a default may be absent. */

const MAX_CORES = 100_000;
const MILLI = 0.001;

export class SoftwareDto {
  @Required(line())
  name!: string;

  @Optional(versionRange)
  version?: string;
}

export class GpuDto {
  @Optional(whole(1, 1024))
  count?: number;

  @Optional(number({ min: MILLI, max: 1, step: MILLI }))
  share?: number;

  @Optional(size())
  memory?: Measure;

  @Optional(list(line(), { max: 64 }))
  models?: readonly string[];
}

export class EstimateDto {
  @Optional(duration(MILLI))
  duration?: Measure;
}

export class BatchDto {
  @Required(whole(1, 1e9))
  size!: number;

  @Optional(whole(1, 1e9))
  min?: number;

  @Optional(size())
  memoryPerItem?: Measure;

  @Optional(size())
  gpuMemoryPerItem?: Measure;

  /** All that are to be done, in as many batches as it takes. */
  @Optional(whole(1, 1e9))
  items?: number;
}

export class PreferenceDto {
  @Required(constraint)
  constraint!: string;

  @Required(whole(1, 100))
  weight!: number;
}

const argument = text({ min: 0, max: MAX_ARGUMENT });

export class TaskDto {
  /** May be absent or empty where an image has a program of its own; see `programOrImage`. */
  @Optional(list(argument), (value) => (Array.isArray(value) && value[0] === '' ? EMPTY_PROGRAM : []))
  command?: readonly string[];

  @Optional(imageReference)
  image?: string;

  @Optional(environment)
  env?: Readonly<Record<string, string>>;
}

const EMPTY_PROGRAM = [{ at: '/0', code: 'OUT_OF_RANGE', message: 'must name the program' }] as const;

export class InputDto {
  @Required(inputSource)
  source!: string;

  @Required(insidePath)
  path!: string;

  @Optional(sha256)
  sha256?: string;

  @Optional(size())
  size?: Measure;

  /** The source is an archive, and the path the folder for its content. */
  @Optional(flag)
  unpack?: boolean;
}

const weight = number({ min: 0, max: 100 });

/** One weight for each factor; an absent one is 0. */
export class WeightsDto implements Partial<Record<(typeof FACTORS)[number], number>> {
  @Optional(weight)
  resources?: number;

  @Optional(weight)
  reliability?: number;

  @Optional(weight)
  availability?: number;

  @Optional(weight)
  queue?: number;

  @Optional(weight)
  cost?: number;
}

export class BudgetDto {
  @Required(number({ min: 0 }))
  maxCost!: number;
}

export class DependencyDto {
  @Required(identifier)
  job!: string;

  @Optional(choice(['completed', 'failed', 'terminal']))
  when?: 'completed' | 'failed' | 'terminal';
}

export class MemoryRetryDto {
  @Required(number({ max: 100 }), overOne)
  factor!: number;

  @Required(size(1))
  max!: Measure;
}

export class RetryDto {
  @Optional(whole(1, 100))
  attempts?: number;

  @Optional(choice(['constant', 'exponential']))
  backoff?: 'constant' | 'exponential';

  @Optional(duration())
  interval?: Measure;

  @Optional(duration())
  maxInterval?: Measure;

  @Optional(list(choice(FAILURE_CLASSES), { max: FAILURE_CLASSES.length }))
  on?: readonly string[];

  @Nested(() => MemoryRetryDto, { optional: true })
  memory?: MemoryRetryDto;
}

export class TimeoutsDto {
  @Optional(duration(MILLI))
  confirm?: Measure;

  @Optional(duration(MILLI))
  queue?: Measure;

  @Optional(duration(MILLI))
  run?: Measure;

  @Optional(duration(MILLI))
  total?: Measure;
}

export { MAX_CORES, MILLI };
