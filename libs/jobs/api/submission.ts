import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { Problem } from '#contracts';
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
import { canonicalFingerprint } from './fingerprint.js';
import { JobAccess } from './job-access.js';
import { parseJobSpec } from './job-file.js';
import { KnownInputs } from './known-inputs.js';
import { JobReader } from './job-reader.js';
import type { ReadJob } from './job-reader.js';
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
    if (key === undefined) return this.store(this.ids.next(), await this.reader.read(input, caller), caller, rerunOf);
    const jobId = keyedId(caller.account, key);
    const read = (await this.repeated(jobId, input)) ?? (await this.reader.read(input, caller));
    return this.store(jobId, read, caller, rerunOf);
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

  /** Each item by itself, as if it were sent alone: one that is refused does not keep the others out. */
  async submitAll(items: readonly unknown[], caller: Caller, key?: string): Promise<SubmittedBatch> {
    const settled = await Promise.allSettled(
      items.map((item, index) => this.submit(item, caller, key === undefined ? key : `${key}#${String(index)}`)),
    );
    const positions = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value.position] : []));
    const results = settled.map((one): BatchResult => {
      if (one.status === 'fulfilled') return { status: 201, ...one.value.submission };
      const problem = problemOf(one.reason);
      return { status: problem.status, problem };
    });
    return { results, position: positions.toSorted((left, right) => (left < right ? -1 : 1)).at(-1) };
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

/** The same account and key always mean the same stream, so a second submission meets the first one there. */
const keyedId = (account: string, key: string): string => {
  const hex = createHash('sha256').update(`${account}\u0000${key}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
