import { foldArchitecture } from '#placement';
import { bytesOf, secondsOf } from '#platform/validation';
import type { Measure } from '#platform/validation';
import { FAILURE_CLASSES, hasTargets, isEndless } from '../domain/job-spec.js';
import type {
  BatchRequest,
  FailureClass,
  GpuRequest,
  InputRequest,
  JobSpec,
  JobType,
  ResourceRequest,
  RetryPolicy,
  SoftwareRequirement,
  Timeouts,
} from '../domain/job-spec.js';
import type { BatchDto, GpuDto, InputDto, RetryDto, SoftwareDto, TimeoutsDto } from './dto/job-parts.dto.js';
import type { JobSpecDto, ResourcesDto } from './dto/job-spec.dto.js';
import { foldPath } from './rules.js';

/* From a checked job file to a job: every default filled in, sizes in bytes, durations in seconds. */

const DEFAULT_CPU = 0.5;
export const DEFAULT_MEMORY = 512 * 1024 * 1024;
const DEFAULT_CONFIRM = 15;
/** `on`: what went wrong with the machine and not with the work. */
const DEFAULT_RETRY: RetryPolicy = {
  attempts: 3,
  backoff: 'exponential',
  interval: 10,
  maxInterval: 60,
  on: ['node-lost', 'infrastructure'],
};
/** Of what is to run on and on: everything but what another try cannot mend. */
const ENDLESS_RETRY: RetryPolicy = {
  attempts: 100,
  backoff: 'exponential',
  interval: 10,
  maxInterval: 300,
  on: FAILURE_CLASSES.filter((one) => !['input', 'policy', 'cancelled'].includes(one)),
};

/** To thousandths, the step of cores and shares; turns −0 into 0. */
const toMilli = (value: number): number => Math.round(value * 1000) / 1000 + 0;

const software = ({ name, version }: SoftwareDto): SoftwareRequirement =>
  version === undefined ? { name } : { name, version };

const gpu = ({ count = 1, share = 1, memory, models = [] }: GpuDto): GpuRequest => ({
  count,
  share: toMilli(share),
  ...(memory !== undefined && { memory: bytesOf(memory) }),
  models: [...models],
});

const resources = (dto: Partial<ResourcesDto> = {}): ResourceRequest => ({
  cpu: toMilli(dto.cpu ?? DEFAULT_CPU),
  memory: dto.memory === undefined ? DEFAULT_MEMORY : bytesOf(dto.memory),
  disk: bytesOf(dto.disk ?? 0),
  ioSlots: (dto.ioSlots ?? 0) + 0,
  ...(dto.gpu && { gpu: gpu(dto.gpu) }),
});

/** No batch has more items than a partition has: room for others would be reserved in vain. */
const batch = (dto: BatchDto, onGpu: boolean, count: number): BatchRequest => {
  const size = Math.min(dto.size, dto.items === undefined ? dto.size : Math.ceil(dto.items / count));
  return {
    size,
    min: Math.min(dto.min ?? dto.size, size),
    memoryPerItem: bytesOf(dto.memoryPerItem ?? 0),
    gpuMemoryPerItem: onGpu ? bytesOf(dto.gpuMemoryPerItem ?? 0) : 0,
    ...(dto.items !== undefined && { items: dto.items }),
  };
};

const input = ({ source, path, size, sha256, unpack }: InputDto): InputRequest => ({
  source,
  path: foldPath(path),
  // A source that is a digest says it already.
  ...(sha256 !== undefined && !source.startsWith('sha256:') && { sha256 }),
  ...(size !== undefined && { size: bytesOf(size) }),
  ...(unpack && { unpack }),
});

/** A cancelled job is never tried again, whatever the file says. */
const retriedClasses = (on: readonly string[]): readonly FailureClass[] =>
  [...new Set(on as readonly FailureClass[])].filter((one) => one !== 'cancelled');

/** Undefined when there is no other try, or no more to ask for. */
const memoryRetry = ({ memory }: Partial<RetryDto>, attempts: number, asked: number) => {
  const max = memory && bytesOf(memory.max);
  return memory && max !== undefined && max > asked && attempts > 1 ? { factor: memory.factor, max } : undefined;
};

const retry = (dto: Partial<RetryDto> = {}, type: JobType, asked: number): RetryPolicy => {
  const usual = isEndless(type) ? ENDLESS_RETRY : DEFAULT_RETRY;
  const backoff = dto.backoff ?? usual.backoff;
  const interval = secondsOf(dto.interval ?? usual.interval);
  const longest = secondsOf(dto.maxInterval ?? Math.max(interval, usual.maxInterval));
  // A daemon is tried again whatever happens.
  const { attempts = usual.attempts, on = usual.on } = type === 'daemon' ? {} : dto;
  const memory = memoryRetry(dto, attempts, asked);
  return {
    attempts,
    backoff,
    interval,
    maxInterval: backoff === 'constant' ? interval : longest,
    on: retriedClasses(on),
    ...(memory && { memory }),
  };
};

const seconds = (value: Measure | undefined): number | undefined =>
  value === undefined ? undefined : secondsOf(value);

const timeouts = (dto: Partial<TimeoutsDto> = {}, type: JobType): Timeouts => ({
  confirm: seconds(dto.confirm) ?? DEFAULT_CONFIRM,
  ...defined({
    queue: type === 'daemon' ? undefined : seconds(dto.queue),
    run: seconds(dto.run),
    total: seconds(dto.total),
  }),
});

/** Without the entries that are undefined: an absent field and an undefined one are different things in an event. */
const defined = <Value>(fields: Readonly<Record<string, Value | undefined>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, Value] => entry[1] !== undefined));

const placementPart = (dto: JobSpecDto) => ({
  ...(dto.application && { application: software(dto.application) }),
  packages: (dto.packages ?? []).map(software),
  architecture: [...new Set((dto.architecture ?? []).map(foldArchitecture))],
  constraints: [...(dto.constraints ?? [])],
  preferences: (dto.preferences ?? []).map(({ constraint, weight }) => ({ constraint, weight })),
  resources: resources(dto.resources),
  estimate: defined({ duration: seconds(dto.estimate?.duration) }),
  ...(dto.batch && { batch: batch(dto.batch, dto.resources?.gpu !== undefined, dto.count ?? 1) }),
});

const workPart = (dto: JobSpecDto) => ({
  task: {
    command: [...(dto.task.command ?? [])],
    env: { ...dto.task.env },
    ...(dto.task.image !== undefined && { image: dto.task.image }),
  },
  inputs: (dto.inputs ?? []).map(input),
  outputs: (dto.outputs ?? []).map(foldPath),
});

const weights = ({
  resources: fit = 0,
  reliability = 0,
  availability = 0,
  queue = 0,
  cost = 0,
}: NonNullable<JobSpecDto['weights']>) => ({
  resources: fit + 0,
  reliability: reliability + 0,
  availability: availability + 0,
  queue: queue + 0,
  cost: cost + 0,
});

const preferencePart = (dto: JobSpecDto) => ({
  ...(dto.profile !== undefined && !dto.weights && { profile: dto.profile }),
  ...(dto.weights && { weights: weights(dto.weights) }),
  ...(dto.budget && { budget: { maxCost: dto.budget.maxCost + 0 } }),
});

/** The job that a checked file describes. */
export const toJobSpec = (dto: JobSpecDto): JobSpec => {
  const placement = placementPart(dto);
  const { type = 'batch' } = dto;
  return {
    name: dto.name,
    project: dto.project,
    type,
    count: hasTargets(type) ? 1 : (dto.count ?? 1),
    priority: (dto.priority ?? 50) + 0,
    ...placement,
    ...workPart(dto),
    ...preferencePart(dto),
    dependsOn: (dto.dependsOn ?? []).map(({ job, when = 'completed' }) => ({ job, when })),
    retry: retry(dto.retry, type, placement.resources.memory),
    timeouts: timeouts(dto.timeouts, type),
    labels: { ...dto.labels },
  };
};

type Warning = readonly [when: boolean, says: string];

/** Each field of the file that has no effect, and what else the submitter should know, with pointers. */
export const warningsOf = (dto: JobSpecDto, spec: JobSpec): readonly string[] => {
  const { count, profile, weights: given, batch: batches, retry: retries } = dto;
  const { estimate, timeouts: bounds, resources: asked } = spec;
  const longest = seconds(retries?.maxInterval) ?? spec.retry.maxInterval;
  const warnings: readonly Warning[] = [
    [
      count !== undefined && count !== spec.count,
      `/count is ignored: a job of type ${spec.type} runs on each node that matches`,
    ],
    [profile !== undefined && given !== undefined, '/profile is ignored: weights are given'],
    [longest !== spec.retry.maxInterval, '/retry/maxInterval is ignored: the backoff is constant'],
    [
      spec.type !== 'daemon' && retries?.on?.includes('cancelled') === true,
      '/retry/on: cancelled is ignored: a cancelled job is not tried again',
    ],
    [
      batches?.gpuMemoryPerItem !== undefined && bytesOf(batches.gpuMemoryPerItem) > 0 && !asked.gpu,
      '/batch/gpuMemoryPerItem is ignored: no gpu is asked for',
    ],
    [
      batches !== undefined && spec.batch?.size !== batches.size,
      `/batch/size is taken as ${spec.batch?.size ?? 0}: a partition has no more items`,
    ],
    [
      retries?.memory !== undefined && !spec.retry.memory,
      spec.retry.attempts === 1
        ? '/retry/memory is ignored: attempts is 1, so there is no other try'
        : '/retry/memory is ignored: its max is what the job asks for at first',
    ],
    [
      (estimate.duration ?? 0) > (bounds.run ?? Infinity),
      '/estimate/duration is over /timeouts/run: the run would be ended before',
    ],
  ];
  const all = [...warnings, ...daemonWarnings(dto, spec)];
  return [...all.filter(([when]) => when).map(([, says]) => says), ...spec.inputs.flatMap(changeable)];
};

const daemonWarnings = ({ retry: retries, timeouts: bounds }: JobSpecDto, spec: JobSpec): readonly Warning[] => {
  if (spec.type !== 'daemon') return [];
  const { attempts, on } = spec.retry;
  return [
    [(retries?.attempts ?? attempts) !== attempts, '/retry/attempts is ignored: a daemon is tried again for ever'],
    [(retries?.on ?? on).join() !== on.join(), '/retry/on is ignored: a daemon is tried again whatever happens'],
    [bounds?.queue !== undefined, '/timeouts/queue is ignored: a daemon waits for its nodes as long as it takes'],
  ];
};

const changeable = ({ source, sha256 }: InputRequest, index: number): string[] =>
  source.startsWith('https://') && sha256 === undefined
    ? [`/inputs/${index}: what lies at this address may change; with its sha256 it is verified, and kept on the node`]
    : [];
