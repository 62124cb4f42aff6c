import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { Problem, ProblemItem } from '#contracts';
import { toInstant, toMillis } from '#kernel';
import type { Clock, Ids } from '#kernel';
import type { Handled } from '#event-store';
import { decide, plannedRequest } from '#placement';
import { CLOCK, IDS } from '#platform/ports';
import { ProblemException, doneOrThrow, problemOf } from '#platform/http';
import type { Caller } from '#platform/http';
import { ClusterView, dryRun } from '#scheduling';
import type { DryRun } from '#scheduling';
import { hasTargets } from '../domain/job-spec.js';
import { jobStateName } from '../domain/state.js';
import type { JobState } from '../domain/state.js';
import { ExecuteJob } from '../write/execute-job.js';
import { Explanations } from './explain/explanations.js';
import type { Explained } from './explain/explanations.js';
import { changedSpec } from './changed-spec.js';
import { resolveReferences } from './batch-references.js';
import type { ResolvedBatch } from './batch-references.js';
import { canonicalFingerprint } from './fingerprint.js';
import { JobAccess } from './job-access.js';
import { parseJobSpec } from './job-file.js';
import { KnownInputs } from './known-inputs.js';
import { JobReader, refusal } from './job-reader.js';
import type { ReadJob } from './job-reader.js';
import { neverCompletes } from './parents.js';
import { matchWarning, nodeWarnings } from './node-warnings.js';

export interface Submission {
  readonly id: string;
  readonly evaluationId: string;
  readonly revision: string;
  readonly warnings: readonly string[];
}

/** What was answered, and the position of what was stored. */
interface Submitted {
  readonly submission: Submission;
  readonly position: bigint;
}

/** What came of one item of a batch. */
export type BatchResult =
  ({ readonly status: 201 } & Submission) | { readonly status: number; readonly problem: Problem };

/** `dryRun` of a job with more partitions than one, or with nodes of its own. */
export type Plan = Explained & { readonly dryRun?: DryRun; readonly warnings: readonly string[] };

export interface SubmittedBatch {
  /** In the order of the items. */
  readonly results: readonly BatchResult[];
  /** Of the last one stored. */
  readonly position: bigint | undefined;
}

/** Takes a job file in: names all its mistakes or stores one job, however often it is sent under one idempotency key. */
@Injectable()
export class JobSubmissions {
  constructor(
    private readonly commands: CommandBus,
    private readonly view: ClusterView,
    private readonly access: JobAccess,
    private readonly reader: JobReader,
    private readonly inputs: KnownInputs,
    private readonly explanations: Explanations,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
  ) {}

  async submit(input: unknown, caller: Caller, key?: string): Promise<Submitted> {
    return this.take(input, caller, key);
  }

  /** A new job from one that has ended; `changes` as `changedSpec` lays them over its file, and all of it is checked anew. */
  async rerun(job: JobState, changes: object, caller: Caller, key?: string): Promise<Submitted> {
    const state = jobStateName(job);
    if (!job.ended || !job.spec) {
      const detail = `job ${job.jobId} is ${state}: only what has ended can be run again`;
      throw new ProblemException('JOB_NOT_TERMINAL', detail, { details: { state } });
    }
    return this.take(changedSpec(job.spec, changes), caller, key, job.jobId);
  }

  private async take(input: unknown, caller: Caller, key?: string, rerunOf?: string): Promise<Submitted> {
    const jobId = this.idFor(caller, key);
    return this.store(jobId, await this.read(jobId, input, caller, key), caller, rerunOf);
  }

  private idFor({ account }: Caller, key: string | undefined): string {
    return key === undefined ? this.ids.next() : keyedId(account, key);
  }

  private async read(
    jobId: string,
    input: unknown,
    caller: Caller,
    key: string | undefined,
    submitted?: ReadonlySet<string>,
  ): Promise<ReadJob> {
    const repeated = key === undefined ? undefined : await this.repeated(jobId, input);
    return repeated ?? this.reader.read(input, caller, submitted);
  }

  /** What was accepted under the key is not judged anew: project and jobs that it names may have changed since. */
  private async repeated(jobId: string, input: unknown): Promise<ReadJob | undefined> {
    const { state } = await this.access.load(jobId);
    const parsed = parseJobSpec(input);
    return state.exists && parsed.ok ? { ...parsed, institution: state.institution } : undefined;
  }

  private async store(jobId: string, read: ReadJob, caller: Caller, rerunOf?: string): Promise<Submitted> {
    const { institution } = read;
    const { spec, warnings } = await this.inputs.of(read.spec);
    const command = {
      type: 'SubmitJob' as const,
      jobId,
      spec,
      account: caller.account,
      institution,
      evaluationId: this.ids.next(),
      // Of the file: what is known of its inputs may be more the next time.
      fingerprint: canonicalFingerprint(read.spec, rerunOf),
      ...(rerunOf !== undefined && { rerunOf }),
      at: toInstant(this.clock.now()),
    };
    const context = { actor: caller.account, correlationId: command.evaluationId };
    const outcome: Handled<JobState> = await this.commands.execute(new ExecuteJob(jobId, command, context));
    const { state, position } = doneOrThrow(outcome);
    const request = plannedRequest({ jobId, spec, account: caller.account, institution });
    const never = nodeWarnings(request, this.view.cluster, toMillis(command.at));
    const submission = {
      id: jobId,
      evaluationId: state.evaluationId,
      revision: '0',
      warnings: [...read.warnings, ...warnings, ...never],
    };
    return { submission, position };
  }

  /**
   * Items that do not name each other are each taken as if it were sent alone: one that is refused does not keep the others
   * out. Of those that do, all are taken or none, and what another waits for is stored before it. When that is cut short, the
   * same items under the same key bring the rest.
   */
  async submitAll(items: readonly unknown[], caller: Caller, key?: string): Promise<SubmittedBatch> {
    const keys = items.map((_, index) => (key === undefined ? key : `${key}#${String(index)}`));
    const ids = keys.map((each) => this.idFor(caller, each));
    const batch = resolveReferences(items, ids);
    if (batch.waves || batch.mistakes.length > 0) return this.submitTogether(batch, ids, keys, caller);
    const settled = await inGroups([...items.entries()], ([index, item]) => this.submit(item, caller, keys[index]));
    const positions = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value.position] : []));
    const results = settled.map((one): BatchResult => {
      if (one.status === 'fulfilled') return { status: 201, ...one.value.submission };
      const problem = problemOf(one.reason);
      return { status: problem.status, problem };
    });
    return { results, position: positions.toSorted((left, right) => (left < right ? -1 : 1)).at(-1) };
  }

  private async submitTogether(
    batch: ResolvedBatch,
    ids: readonly string[],
    keys: readonly (string | undefined)[],
    caller: Caller,
  ): Promise<SubmittedBatch> {
    const read = await this.readTogether(batch, ids, keys, caller);
    const results: BatchResult[] = [];
    let position: bigint | undefined;
    for (const wave of batch.waves ?? []) {
      const stored = await inGroups(wave, (index) => this.storeItem(index, ids, read, caller));
      for (const [at, one] of stored.entries()) {
        if (one.status === 'rejected') throw one.reason;
        results[wave[at] ?? 0] = { status: 201, ...one.value.submission };
        if (position === undefined || one.value.position > position) position = one.value.position;
      }
    }
    return { results, position };
  }

  private storeItem(
    index: number,
    ids: readonly string[],
    read: readonly ReadJob[],
    caller: Caller,
  ): Promise<Submitted> {
    const [jobId, job] = [ids[index], read[index]];
    if (jobId === undefined || !job) throw new Error(`a batch has no item ${String(index)}`);
    return this.store(jobId, job, caller);
  }

  /** Throws the problem that names every mistake of every item. */
  private async readTogether(
    { items, dependencies, mistakes }: ResolvedBatch,
    ids: readonly string[],
    keys: readonly (string | undefined)[],
    caller: Caller,
  ): Promise<readonly ReadJob[]> {
    const submitted = new Set(ids);
    const known = new Set(mistakes.map(({ pointer }) => pointer));
    const settled = await inGroups([...items.entries()], ([index, item]) =>
      this.read(ids[index] ?? '', item, caller, keys[index], submitted),
    );
    const read = settled.map((one) => (one.status === 'fulfilled' ? one.value : undefined));
    const found = settled.flatMap((one, index) => (one.status === 'rejected' ? mistakesOfItem(one.reason, index) : []));
    const never = dependencies.flatMap((each) =>
      each.flatMap(({ pointer, parent, when }) => {
        const spec = read[parent]?.spec;
        return spec && when === 'completed' ? neverCompletes({ pointer, job: `#${spec.name}`, when }, spec.type) : [];
      }),
    );
    const all = [...mistakes, ...found.filter(({ pointer }) => !known.has(pointer)), ...never];
    if (all.length > 0) throw refusal(all);
    return read.filter((one) => one !== undefined);
  }

  /** The decision that the scheduler would make now, by the same code on the same view. Nothing is written. */
  async plan(input: unknown, caller: Caller): Promise<Plan> {
    const { warnings, institution, ...file } = await this.reader.read(input, caller);
    const { spec } = await this.inputs.of(file.spec);
    const [jobId, evaluationId] = [this.ids.next(), this.ids.next()];
    const request = plannedRequest({ jobId, spec, account: caller.account, institution });
    const context = { number: 1, evaluationId, trigger: 'plan', partition: 0, time: toInstant(this.clock.now()) };
    const { decision } = decide(request, this.view.cluster, context);
    const nodes = hasTargets(spec.type) ? [matchWarning(request, this.view.cluster, toMillis(context.time))] : [];
    const many = hasTargets(spec.type) || spec.count > 1;
    const run = many ? { dryRun: dryRun(request, this.view.cluster, toMillis(context.time)) } : {};
    return { ...this.explanations.plan(decision, request, caller), ...run, warnings: [...warnings, ...nodes] };
  }
}

/** Items of a batch that are read or stored at once: a thousand would keep the event store from answering anyone else. */
const AT_ONCE = 50;

const inGroups = async <Item, Answer>(
  items: readonly Item[],
  run: (item: Item) => Promise<Answer>,
): Promise<PromiseSettledResult<Answer>[]> => {
  const settled: PromiseSettledResult<Answer>[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE)
    settled.push(...(await Promise.allSettled(items.slice(from, from + AT_ONCE).map(run))));
  return settled;
};

/** What is wrong with one item, as places of the batch; a fault is none of the item's. */
const mistakesOfItem = (reason: unknown, index: number): ProblemItem[] => {
  if (!(reason instanceof ProblemException) || reason.problem.errors.length === 0) throw reason;
  return reason.problem.errors.map((one) => ({ ...one, pointer: `/items/${String(index)}${one.pointer}` }));
};

/** The same account and key always mean the same stream, so a second submission meets the first one there. */
const keyedId = (account: string, key: string): string => {
  const hex = createHash('sha256').update(`${account}\u0000${key}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
