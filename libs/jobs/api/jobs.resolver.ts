import { Args, Field, ID, Int, Mutation, ObjectType, Query, Resolver, Subscription } from '@nestjs/graphql';
import { Inject } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import { CurrentCaller, Json, Roles, doneOrThrow, idempotencyKeyOf, parsed, readQuery } from '#platform/http';
import type { Caller } from '#platform/http';
import { CLOCK } from '#platform/ports';
import type { ClusterJob } from '#placement';
import { ClusterView } from '#scheduling';
import { jobStateName } from '../domain/state.js';
import { JobQueries } from '../read/index.js';
import { ExecuteJob } from '../write/execute-job.js';
import { JobListQuery, QueueQuery, TimelineQuery, parseCancel, parseRerun, sinceOf } from './dto/index.js';
import { Explanations } from './explain/explanations.js';
import { dataFor, decisionFor } from './explain/naming.js';
import { JobAccess } from './job-access.js';
import { QueueOrder } from './queue-order.js';
import { JobChanges } from './job-changes.js';
import type { JobChange } from './job-changes.js';
import { JobSubmissions } from './submission.js';

/** Without the arguments that were left out, or given as null. */
const stated = (given: Readonly<Record<string, string | null | undefined>>): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));

@ObjectType({ description: 'The answer to a submission' })
export class SubmittedJob {
  @Field(() => ID)
  readonly id: string;
  @Field(() => ID)
  readonly evaluationId: string;
  @Field()
  readonly revision: string;
  @Field(() => [String])
  readonly warnings: string[];
}

@ObjectType({ description: 'The state of a job right after a command' })
export class ChangedJob {
  @Field(() => ID)
  readonly id: string;
  @Field()
  readonly state: string;
  @Field({ description: 'The position to wait for when reading' })
  readonly position: string;
}

@ObjectType({ description: 'A movement of a job, told as it happens' })
export class JobMovement {
  @Field(() => ID)
  readonly jobId: string;
  @Field({ description: 'The event type' })
  readonly type: string;
  @Field()
  readonly revision: string;
  @Field()
  readonly position: string;
}

@ObjectType({ description: 'A part of a list' })
export class JsonPage {
  @Field(() => [Json])
  readonly items: object[];
  @Field(() => String, { nullable: true, description: 'The cursor of the next part' })
  readonly next: string | null;
}

/** Jobs over GraphQL: the same shapes as REST, live. */
@Resolver()
@Roles('researcher', 'operator', 'auditor')
export class JobsResolver {
  constructor(
    private readonly commands: CommandBus,
    private readonly submissions: JobSubmissions,
    private readonly jobs: JobQueries,
    private readonly order: QueueOrder,
    private readonly access: JobAccess,
    private readonly changes: JobChanges,
    private readonly explanations: Explanations,
    private readonly view: ClusterView,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Query(() => Json, { nullable: true, name: 'job', description: 'One job, as REST shows it' })
  async job(@Args('id', { type: () => ID }) id: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    await this.access.maySee(id, caller);
    return this.jobs.get(id, this.access.visibleProjects(caller));
  }

  @Query(() => JsonPage, { name: 'jobs', description: 'Jobs, newest first' })
  list(
    @CurrentCaller() caller: Caller,
    @Args('state', { type: () => String, nullable: true }) state?: string | null,
    @Args('project', { type: () => String, nullable: true }) project?: string | null,
    @Args('node', { type: () => String, nullable: true }) node?: string | null,
    @Args('name', { type: () => String, nullable: true }) name?: string | null,
    @Args('type', { type: () => String, nullable: true }) type?: string | null,
    @Args('limit', { type: () => Int, nullable: true }) limit?: number | null,
    @Args('cursor', { type: () => String, nullable: true }) cursor?: string | null,
    @Args('since', { type: () => String, nullable: true }) since?: string | null,
  ): Promise<unknown> {
    const given = { state, project, node, name, type, since, cursor, limit: limit?.toString() };
    const asked = readQuery(JobListQuery, stated(given));
    return this.jobs.list({ ...asked, ...sinceOf(asked), visible: this.access.visibleProjects(caller) });
  }

  @Query(() => [Json], { name: 'timeline', description: 'Every movement of a job, oldest first' })
  async timeline(
    @Args('id', { type: () => ID }) id: string,
    @CurrentCaller() caller: Caller,
    @Args('execution', { type: () => String, nullable: true }) execution?: string | null,
    @Args('type', { type: () => String, nullable: true }) type?: string | null,
  ): Promise<unknown> {
    const asked = readQuery(TimelineQuery, stated({ execution, type }));
    const { state } = await this.access.maySee(id, caller);
    const naming = this.explanations.namingFor(caller, state);
    const { items } = await this.jobs.history.timeline(id, { ...asked, visible: this.access.visibleProjects(caller) });
    return items.map((one) => ({ ...one, data: dataFor(one.type, one.data, naming) }));
  }

  @Query(() => [Json], { name: 'decisions', description: 'Every decision about a job with its reasons' })
  async decisions(@Args('id', { type: () => ID }) id: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    const { state } = await this.access.maySee(id, caller);
    const { items } = await this.jobs.history.decisions(id, {});
    return items.map((one) => decisionFor(one, this.explanations.namingFor(caller, state)));
  }

  @Query(() => Json, {
    name: 'decision',
    description: 'One decision explained; `node`: why that node was or was not it',
  })
  async decision(
    @Args('id', { type: () => ID }) id: string,
    @Args('number', { type: () => Int }) number: number,
    @CurrentCaller() caller: Caller,
    @Args('node', { type: () => String, nullable: true }) node?: string | null,
  ): Promise<unknown> {
    const { state } = await this.access.maySee(id, caller);
    return this.explanations.decision(state, caller, number, node ?? undefined);
  }

  @Query(() => JsonPage, { name: 'queue', description: 'What waits, in order, with the reasons' })
  queue(
    @CurrentCaller() caller: Caller,
    @Args('project', { type: () => String, nullable: true }) project?: string | null,
    @Args('limit', { type: () => Int, nullable: true }) limit?: number | null,
    @Args('cursor', { type: () => String, nullable: true }) cursor?: string | null,
  ): Promise<unknown> {
    const asked = readQuery(QueueQuery, stated({ project, cursor, limit: limit?.toString() }));
    return this.order.list({ ...asked, visible: this.access.visibleProjects(caller) });
  }

  @Mutation(() => SubmittedJob, { description: 'Submit a job; `spec` is the job file' })
  @Roles('researcher', 'operator')
  async submitJob(
    @Args('spec', { type: () => Json }) spec: object,
    @CurrentCaller() caller: Caller,
    @Args('idempotencyKey', { nullable: true }) key?: string,
  ): Promise<unknown> {
    const { submission } = await this.submissions.submit(spec, caller, idempotencyKeyOf(key));
    return submission;
  }

  @Mutation(() => SubmittedJob, { description: 'Run an ended job again, as a new job; `changes` to its file, if any' })
  @Roles('researcher', 'operator')
  async rerunJob(
    @Args('id', { type: () => ID }) id: string,
    @CurrentCaller() caller: Caller,
    @Args('changes', { type: () => Json, nullable: true }) given?: object | null,
    @Args('idempotencyKey', { nullable: true }) key?: string,
  ): Promise<unknown> {
    const { changes = {} } = parsed(parseRerun(given ? { changes: given } : {}));
    const { state } = await this.access.maySee(id, caller);
    const { submission } = await this.submissions.rerun(state, changes, caller, idempotencyKeyOf(key));
    return submission;
  }

  @Mutation(() => ChangedJob, { description: 'Cancel a job; what runs is stopped on its node' })
  @Roles('researcher', 'operator')
  async cancelJob(
    @Args('id', { type: () => ID }) id: string,
    @Args('reason') given: string,
    @CurrentCaller() caller: Caller,
  ): Promise<Readonly<Record<keyof ChangedJob, string>>> {
    const { reason } = parsed(parseCancel({ reason: given }));
    await this.access.mayChange(id, caller);
    const command = { type: 'CancelJob' as const, reason, byUser: true, at: toInstant(this.clock.now()) };
    const outcome = await this.commands.execute(new ExecuteJob(id, command, { actor: caller.account }));
    const { state, position } = doneOrThrow(outcome);
    return { id, state: jobStateName(state), position: String(position) };
  }

  @Subscription(() => JobMovement, {
    name: 'jobChanged',
    description: 'Movements of one job, or of all that the caller may see',
    resolve: (change: JobChange) => change,
  })
  async jobChanged(
    @CurrentCaller() caller: Caller,
    @Args('id', { type: () => ID, nullable: true }) id?: string,
  ): Promise<AsyncGenerator<JobChange>> {
    if (id !== undefined) await this.access.maySee(id, caller);
    const projects = this.access.visibleProjects(caller);
    const isMine = (job: ClusterJob): boolean => projects?.includes(job.project) ?? true;
    // A job that ended has left the view, and its last movement must be told too.
    const seen = new Set([...this.view.cluster.jobs.values()].filter(isMine).map((job) => job.id));
    return this.changes.follow(id, (jobId) => {
      if (!projects || id === jobId) return true;
      const job = this.view.cluster.jobs.get(jobId);
      if (job && isMine(job)) seen.add(jobId);
      return seen.has(jobId);
    });
  }
}
