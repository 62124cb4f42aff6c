import { Body, Controller, Headers, HttpCode, Inject, Param, Patch, Post, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import {
  CurrentCaller,
  Idempotent,
  OwnIdempotency,
  ProblemException,
  Roles,
  answered,
  idempotencyKeyOf,
  ifMatch,
  parsed,
} from '#platform/http';
import type { Caller } from '#platform/http';
import { CLOCK } from '#platform/ports';
import type { JobCommand } from '../domain/commands.js';
import { jobStateName } from '../domain/state.js';
import { ExecuteJob } from '../write/execute-job.js';
import { JobAccess } from './job-access.js';
import { parseBatch, parseCancel, parsePriority, parseReason, parseRerun } from './dto/index.js';
import { JobSubmissions } from './submission.js';
import type { BatchResult, Plan, Submission } from './submission.js';

/** What researchers ask of jobs: submit, stop, hold and reorder. */
@ApiTags('jobs')
@Controller('v1/jobs')
@Roles('researcher', 'operator')
export class JobsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly submissions: JobSubmissions,
    private readonly access: JobAccess,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @HttpCode(201)
  @OwnIdempotency()
  @ApiOperation({ summary: 'Submit a job' })
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'The same key and job give the same answer' })
  async submit(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') key?: string,
  ): Promise<Submission> {
    const { submission, position } = await this.submissions.submit(body, caller, idempotencyKeyOf(key));
    return created(submission, position, reply);
  }

  @Post('batch')
  @HttpCode(200)
  @OwnIdempotency()
  @ApiOperation({
    summary: 'Submit up to 1,000 jobs: one result each, in their order; those that name each other, all or none',
  })
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'Stands for each item with its index' })
  async submitAll(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') key?: string,
  ): Promise<{ items: readonly BatchResult[] }> {
    const { items } = parsed(parseBatch(body));
    const { results, position } = await this.submissions.submitAll(items, caller, idempotencyKeyOf(key));
    if (position !== undefined) void reply.header('escalon-position', String(position));
    return { items: results };
  }

  @Post('plan')
  @HttpCode(200)
  @OwnIdempotency()
  @ApiOperation({ summary: 'The decision that would be made now; nothing is written' })
  plan(@Body() body: unknown, @CurrentCaller() caller: Caller): Promise<Plan> {
    return this.submissions.plan(body, caller);
  }

  @Post(':id/rerun')
  @HttpCode(201)
  @OwnIdempotency()
  @ApiOperation({ summary: 'Run an ended job again, as a new job, with changes to its file if any' })
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'The same key and changes give the same answer' })
  async rerun(
    @Param('id') jobId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') key?: string,
  ): Promise<Submission> {
    const { changes = {} } = parsed(parseRerun(body));
    const { state } = await this.access.maySee(jobId, caller);
    const { submission, position } = await this.submissions.rerun(state, changes, caller, idempotencyKeyOf(key));
    return created(submission, position, reply);
  }

  @Post(':id/cancel')
  @Idempotent()
  @HttpCode(200)
  @ApiOperation({ summary: 'Cancel a job; what runs is stopped on its node' })
  cancel(
    @Param('id') jobId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('if-match') match?: string,
  ): Promise<unknown> {
    const { reason } = parsed(parseCancel(body));
    return this.run(jobId, { type: 'CancelJob', reason, byUser: true, at: this.now() }, caller, reply, match);
  }

  @Post(':id/pause')
  @Idempotent()
  @HttpCode(200)
  @ApiOperation({ summary: 'Hold a job: nothing new starts, what runs is stopped in place' })
  pause(
    @Param('id') jobId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('if-match') match?: string,
  ): Promise<unknown> {
    const { reason } = parsed(parseReason(body));
    return this.run(jobId, { type: 'PauseJob', reason, at: this.now() }, caller, reply, match);
  }

  @Post(':id/resume')
  @Idempotent()
  @HttpCode(200)
  @ApiOperation({ summary: 'Let a held job go on' })
  resume(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('if-match') match?: string,
  ): Promise<unknown> {
    return this.run(jobId, { type: 'ResumeJob', at: this.now() }, caller, reply, match);
  }

  @Patch(':id')
  @ApiOperation({ summary: 'Change the priority; If-Match is required' })
  priority(
    @Param('id') jobId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('if-match') match?: string,
  ): Promise<unknown> {
    if (match === undefined)
      throw new ProblemException('PRECONDITION_REQUIRED', 'send the ETag of the job as If-Match');
    const { priority } = parsed(parsePriority(body));
    return this.run(jobId, { type: 'ChangePriority', priority, at: this.now() }, caller, reply, match);
  }

  private async run(
    jobId: string,
    command: JobCommand,
    caller: Caller,
    reply: FastifyReply,
    match: string | undefined,
  ): Promise<unknown> {
    await this.access.mayChange(jobId, caller);
    const context = { actor: caller.account, ...ifMatch(match) };
    const job = answered(await this.commands.execute(new ExecuteJob(jobId, command, context)), reply);
    return {
      id: jobId,
      state: jobStateName(job),
      cancelRequested: job.cancelRequested ?? null,
      priority: job.priority,
    };
  }

  private now(): string {
    return toInstant(this.clock.now());
  }
}

const created = (submission: Submission, position: bigint, reply: FastifyReply): Submission => {
  void reply.header('location', `/v1/jobs/${submission.id}`);
  void reply.header('etag', `"${submission.revision}"`).header('escalon-position', String(position));
  return submission;
};
