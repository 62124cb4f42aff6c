import { Controller, Get, Inject, Param, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { toInstant } from '#kernel';
import type { EventStore, RecordedEvent } from '#event-store';
import { CurrentCaller, ProblemException, Roles, readQuery } from '#platform/http';
import type { Caller } from '#platform/http';
import { EVENT_STORE } from '#platform/ports';
import { explainDecision } from '#placement';
import { jobStream } from '../domain/events.js';
import { liveExecutions } from '../domain/state.js';
import { JobQueries } from '../read/index.js';
import { JobListQuery, QueueQuery, sinceOf } from './dto/index.js';
import { JobAccess } from './job-access.js';
import { explainNodeAt, nodeInWords } from './node-at-decision.js';

/** What people read of jobs. */
@ApiTags('jobs')
@Controller('v1')
@Roles('researcher', 'operator', 'auditor', 'node')
export class JobViewsController {
  constructor(
    private readonly jobs: JobQueries,
    private readonly access: JobAccess,
    @Inject(EVENT_STORE) private readonly store: EventStore,
  ) {}

  @Get('jobs')
  @Roles('researcher', 'operator', 'auditor')
  @ApiOperation({ summary: 'Jobs, newest first' })
  list(@Query() query: unknown, @CurrentCaller() caller: Caller): Promise<unknown> {
    const asked = readQuery(JobListQuery, query);
    return this.jobs.list({ ...asked, ...sinceOf(asked), visible: this.access.visibleProjects(caller) });
  }

  @Get('queue')
  @Roles('researcher', 'operator', 'auditor')
  @ApiOperation({ summary: 'What waits, in order, with the reasons and since when' })
  queue(@Query() query: unknown, @CurrentCaller() caller: Caller): Promise<unknown> {
    return this.jobs.queue({ ...readQuery(QueueQuery, query), visible: this.access.visibleProjects(caller) });
  }

  @Get('jobs/:id')
  @ApiOperation({ summary: 'One job; ETag is its revision' })
  async show(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    await this.access.maySee(jobId, caller);
    const job = await this.jobs.get(jobId);
    if (!job) throw new ProblemException('JOB_NOT_FOUND', `job ${jobId} is not in the read model yet`);
    void reply.header('etag', `"${job.revision}"`);
    return job;
  }

  @Get('jobs/:id/timeline')
  @ApiOperation({ summary: 'Every movement of the job, oldest first' })
  async timeline(@Param('id') jobId: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    await this.access.maySee(jobId, caller);
    return this.jobs.timeline(jobId);
  }

  @Get('jobs/:id/decisions')
  @ApiOperation({ summary: 'Every placement decision with its reasons, oldest first' })
  async decisions(@Param('id') jobId: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    await this.access.maySee(jobId, caller);
    return this.jobs.decisions(jobId);
  }

  @Get('jobs/:id/decisions/:number')
  @ApiOperation({ summary: 'One decision, with the explanation in words' })
  async decision(
    @Param('id') jobId: string,
    @Param('number') number: string,
    @CurrentCaller() caller: Caller,
    @Query('node') node?: string,
  ): Promise<unknown> {
    await this.access.maySee(jobId, caller);
    const decision = await this.jobs.decision(jobId, Number(number));
    if (!decision) throw new ProblemException('DECISION_NOT_FOUND', `job ${jobId} has no decision ${number}`);
    if (node === undefined) return { ...decision, explanation: explainDecision(decision) };
    const answer = await explainNodeAt(this.store, jobId, decision, node);
    return { ...decision, node: answer, explanation: nodeInWords(decision, answer) };
  }

  @Get('jobs/:id/executions')
  @ApiOperation({ summary: 'Every try of the job' })
  async executions(@Param('id') jobId: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    await this.access.maySee(jobId, caller);
    return this.jobs.executions(jobId);
  }

  /** From the stream itself, so that a result is there as soon as it is recorded. */
  @Get('jobs/:id/results')
  @ApiOperation({ summary: 'What each try left behind: artifacts, exit code, consumption' })
  async results(@Param('id') jobId: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    const { state } = await this.access.maySee(jobId, caller);
    const ended = Object.values(state.executions).filter(({ endedAt }) => endedAt !== undefined);
    const items = ended.map(
      ({ executionId, partition, attempt, nodeId, state: outcome, exitCode, artifacts, consumption }) => ({
        executionId,
        partition,
        attempt,
        nodeId,
        state: outcome,
        exitCode: exitCode ?? null,
        artifacts,
        consumption: consumption ?? null,
      }),
    );
    return { items, next: null, running: liveExecutions(state).length };
  }

  @Get('jobs/:id/events')
  @ApiOperation({ summary: 'The raw events of the job, oldest first' })
  async events(@Param('id') jobId: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    await this.access.maySee(jobId, caller);
    const items: unknown[] = [];
    for await (const event of this.store.readStream(jobStream(jobId))) items.push(rawEvent(event));
    return { items, next: null };
  }
}

/** An event as auditors get it: exactly what is stored, 64-bit numbers as text. */
export const rawEvent = ({
  id,
  type,
  stream,
  revision,
  position,
  recordedAt,
  data,
  metadata,
}: RecordedEvent): object => ({
  id,
  type,
  stream,
  revision: String(revision),
  position: String(position),
  recordedAt: toInstant(recordedAt),
  metadata,
  data,
});
