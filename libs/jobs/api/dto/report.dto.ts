import type { Report } from '#contracts';
import { FAILURE_CLASSES } from '#jobs';
import type { FailureClass, ReportType } from '#jobs';
import {
  below,
  checkEach,
  choice,
  fault,
  isRecord,
  mapChecked,
  Nested,
  NestedList,
  number,
  object,
  Optional,
  plain,
  refuse,
  Required,
  sha256,
  text,
  validateInput,
  whole,
} from '#platform/validation';
import type { Checked, InputClass } from '#platform/validation';
import { insidePath } from '../rules.js';

/* What nodes say of executions, one class for each kind of report. */

/** A report that lists thousands of artifacts still fits into one event. */
const LIMITS = { maxBytes: 768 * 1024, maxDepth: 16 };
const MAX_ARTIFACTS = 4000;
const MAX_REPORTS = 1000;
const MAX_GPUS = 1024;
/** Characters of a message, and bytes of diagnostics, that are recorded. */
const KEPT_MESSAGE = 4000;
const KEPT_DIAGNOSTICS = 16 * 1024;

const amount = number({ min: 0 });
const count = whole(0, Number.MAX_SAFE_INTEGER);
const words = text({ min: 0, max: LIMITS.maxBytes });
const exitCode = whole(-(2 ** 31), 2 ** 32 - 1);

export class ArtifactDto {
  @Required(insidePath)
  path!: string;

  @Required(sha256)
  sha256!: string;

  @Required(count)
  size!: number;

  @Required(text({ max: 128 }))
  mediaType!: string;
}

export class ConsumptionDto {
  @Required(amount)
  cpuSeconds!: number;

  @Required(amount)
  wallSeconds!: number;

  @Required(count)
  maxMemory!: number;

  @Required(count)
  maxDisk!: number;

  @Required(amount)
  gpuSeconds!: number;

  @Required(count)
  bytesIn!: number;

  @Required(count)
  bytesOut!: number;
}

const artifacts = { max: MAX_ARTIFACTS, unique: (item: unknown) => (isRecord(item) ? item.path : undefined) };

class AnyReportDto {
  @Required(text())
  type!: string;

  @Required(text({ max: 200 }))
  executionId!: string;

  @Required(count)
  fencingToken!: number;
}

export class GrantedGpuDto {
  @Required(text({ max: 200 }))
  id!: string;

  @Required(number({ min: 0, max: 1 }))
  share!: number;

  @Required(count)
  memory!: number;
}

export class ContractDto {
  @Required(amount)
  cpu!: number;

  @Required(count)
  memory!: number;

  @Required(count)
  disk!: number;

  @Required(count)
  ioSlots!: number;

  @NestedList(() => GrantedGpuDto, { max: MAX_GPUS })
  gpus!: readonly GrantedGpuDto[];

  @Optional(whole(1, Number.MAX_SAFE_INTEGER))
  batchSize?: number;
}

class ConfirmDto extends AnyReportDto {
  @Nested(() => ContractDto, { optional: true })
  contract?: ContractDto;
}

class DeclineDto extends AnyReportDto {
  @Required(words)
  reason!: string;
}

class ProgressDto extends AnyReportDto {
  @Required(number({ min: 0, max: 1 }))
  fraction!: number;

  @Optional(words)
  message?: string;

  @Optional(object)
  diagnostics?: Readonly<Record<string, unknown>>;
}

class SucceedDto extends AnyReportDto {
  @Required(exitCode)
  exitCode!: number;

  @NestedList(() => ArtifactDto, artifacts)
  artifacts!: readonly ArtifactDto[];

  @Nested(() => ConsumptionDto)
  consumption!: ConsumptionDto;
}

class FailDto extends AnyReportDto {
  @Required(choice(FAILURE_CLASSES))
  class!: FailureClass;

  @Required(text({ max: 64 }))
  code!: string;

  @Required(words)
  message!: string;

  @Optional(exitCode)
  exitCode?: number;

  @Optional(object)
  diagnostics?: Readonly<Record<string, unknown>>;

  @NestedList(() => ArtifactDto, { ...artifacts, optional: true })
  artifacts?: readonly ArtifactDto[];

  @Nested(() => ConsumptionDto, { optional: true })
  consumption?: ConsumptionDto;
}

const CLASSES: Readonly<Record<ReportType, InputClass<AnyReportDto>>> = {
  confirm: ConfirmDto,
  decline: DeclineDto,
  prepare: AnyReportDto,
  start: AnyReportDto,
  progress: ProgressDto,
  pause: AnyReportDto,
  resume: AnyReportDto,
  publish: AnyReportDto,
  succeed: SucceedDto,
  fail: FailDto,
};

const ofKnownType = choice(Object.keys(CLASSES));
const MISSING = fault('REQUIRED', 'is missing');

const isReportType = (type: unknown): type is ReportType => typeof type === 'string' && Object.hasOwn(CLASSES, type);

/** Messages quote programs, and programs print anything: what cannot be stored is replaced, or the end would be lost. */
const storable = (input: unknown): unknown => {
  if (!isRecord(input)) return input;
  const clean = (value: unknown) =>
    typeof value === 'string' ? value.toWellFormed().replaceAll('\u0000', '\ufffd') : value;
  const { message, reason, diagnostics } = input;
  return {
    ...input,
    ...(message !== undefined && { message: clean(message) }),
    ...(reason !== undefined && { reason: clean(reason) }),
    ...(isRecord(diagnostics) && !isStorable(diagnostics) && { diagnostics: UNSTORABLE }),
  };
};

const UNSTORABLE = { dropped: 'holds characters that cannot be stored' };

/** JSON writes both U+0000 and halves of a pair as escapes; a text that merely quotes such an escape has two backslashes. */
const isStorable = (value: object): boolean => !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(JSON.stringify(value));

const kept = (diagnostics: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const bytes = Buffer.byteLength(JSON.stringify(diagnostics));
  return bytes <= KEPT_DIAGNOSTICS ? diagnostics : { dropped: `${bytes} bytes, over ${KEPT_DIAGNOSTICS}` };
};

interface Wordy {
  readonly type: string;
  readonly message?: string;
  readonly reason?: string;
  readonly diagnostics?: Readonly<Record<string, unknown>>;
}

/** Long words are cut and large diagnostics dropped: never a reason to refuse how an execution ended. */
const bounded = (report: Wordy): Wordy => ({
  ...report,
  ...(report.message !== undefined && { message: report.message.slice(0, KEPT_MESSAGE).toWellFormed() }),
  ...(report.reason !== undefined && { reason: report.reason.slice(0, KEPT_MESSAGE).toWellFormed() }),
  ...(report.diagnostics && { diagnostics: kept(report.diagnostics) }),
});

/** One report; its kind, the execution and the fencing token stand beside its own fields. */
export const parseReport = (input: unknown): Checked<Report> => {
  const type = isRecord(input) ? input.type : undefined;
  if (!isReportType(type)) return refuse(below('type', type === undefined ? MISSING : ofKnownType(type)));
  return mapChecked(validateInput(CLASSES[type], storable(input), LIMITS), (dto) => bounded(plain(dto)) as Report);
};

/** Several reports, at most a thousand. */
export const parseReports = (input: unknown): Checked<readonly Report[]> => checkEach(input, MAX_REPORTS, parseReport);
