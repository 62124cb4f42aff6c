import { Readable } from 'node:stream';
import { Controller, Get, Headers, Inject, Param, Query, Res } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { LogStore } from '#artifacts';
import type { Timers } from '#kernel';
import { CurrentCaller, EventStreams, ProblemException, Roles, readQuery } from '#platform/http';
import type { Caller } from '#platform/http';
import { TIMERS } from '#platform/ports';
import { ClusterView } from '#scheduling';
import { jobStateName } from '../../domain/state.js';
import type { JobState } from '../../domain/state.js';
import { JobQueries } from '../../read/index.js';
import { JobAccess } from '../job-access.js';
import { chunksOf } from './log-chunks.js';
import { LogFollower } from './log-follower.js';
import type { Followed } from './log-follower.js';
import { positionOf, positionText } from './log-position.js';
import { LogsQuery } from './log-queries.js';
import { LOG_STREAMS, bytesOf, tailParts } from './log-text.js';
import type { LogPart } from './log-text.js';

const EVENT_STREAM = 'text/event-stream';

/** What a job's tasks wrote. */
@ApiTags('jobs')
@Controller('v1/jobs/:id/logs')
@Roles('researcher', 'operator', 'auditor')
export class LogsController {
  constructor(
    private readonly access: JobAccess,
    private readonly jobs: JobQueries,
    private readonly logs: LogStore,
    private readonly view: ClusterView,
    private readonly streams: EventStreams,
    @Inject(TIMERS) private readonly timers: Timers,
  ) {}

  /**
   * Plain text: the executions in the order of their reservation, of each first stdout, then stderr; a line of its own
   * tells what was left out of a stream. Where `text/event-stream` is accepted, or with `follow=true`, server-sent events: `log`
   * with `{executionId, stream, offset, next, text, leftOut?}`, at last `end` with the job's state. One that is followed
   * and breaks before its `end` is taken up again by `Last-Event-ID`; without one all is told again, and what lies below
   * the last `next` passed over.
   */
  @Get()
  @ApiOperation({ summary: 'Logs of a job or of one of its executions; `tail` lines, `follow` until the job ends' })
  @ApiQuery({ name: 'execution', required: false })
  @ApiQuery({ name: 'stream', required: false, enum: LOG_STREAMS })
  @ApiQuery({ name: 'tail', required: false, description: 'Only the last lines; followed, of each stream' })
  @ApiQuery({ name: 'follow', required: false, enum: ['true', 'false'] })
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'Goes on there; `tail` counts no more then' })
  async read(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Res() reply: FastifyReply,
    @Query() query: unknown,
    @Headers('accept') accept?: string,
    @Headers('last-event-id') lastEventId?: string,
  ): Promise<void> {
    const { state } = await this.access.maySee(jobId, caller);
    const { execution, stream, tail, follow } = readQuery(LogsQuery, query);
    const streams = stream === undefined ? LOG_STREAMS : [stream];
    const lines = tail === undefined ? undefined : Number(tail);
    if (execution !== undefined && !(await this.has(state, execution))) {
      throw new ProblemException('EXECUTION_UNKNOWN', `job ${jobId} has no execution ${execution}`);
    }
    if (follow === 'true') {
      const from = lastEventId === undefined ? {} : { from: positionOf(lastEventId, jobId) };
      return this.follow(jobId, { execution, streams, tail: lines, ...from }, reply);
    }
    const executions = execution === undefined ? Object.keys(state.executions) : [execution];
    const all = executions.flatMap((executionId) => streams.map((one) => ({ executionId, stream: one, offset: 0 })));
    const parts = lines === undefined ? all : await tailParts(this.logs, all, lines);
    if (accept?.includes(EVENT_STREAM) === true) return this.tell(state, parts, reply);
    await reply.header('content-type', 'text/plain; charset=utf-8').send(Readable.from(bytesOf(this.logs, parts)));
  }

  /** A service's older executions are known to the read model alone. */
  private async has({ jobId, executions }: JobState, executionId: string): Promise<boolean> {
    return Object.hasOwn(executions, executionId) || (await this.jobs.history.hasExecution(jobId, executionId));
  }

  private async tell(job: JobState, parts: readonly LogPart[], reply: FastifyReply): Promise<void> {
    const stream = this.streams.open(reply, 'logs');
    try {
      for (const part of parts) {
        for await (const chunk of chunksOf(this.logs, part)) await stream.send({ event: 'log', data: chunk });
      }
      await stream.send({ event: 'end', data: { state: jobStateName(job) } });
    } finally {
      stream.end();
    }
  }

  private async follow(jobId: string, followed: Followed, reply: FastifyReply): Promise<void> {
    const stream = this.streams.open(reply, 'logs');
    stream.keepAlive(this.timers);
    const load = async (): Promise<JobState> => (await this.access.load(jobId)).state;
    const { logs, view, timers } = this;
    const follower = new LogFollower({ logs, view, timers, load, jobId }, followed);
    stream.onClose(() => follower.stop());
    try {
      for await (const chunk of follower.chunks()) {
        const id = positionText(follower.position);
        await stream.send({ ...(id !== undefined && { id }), event: 'log', data: chunk });
      }
      await stream.send({ event: 'end', data: { state: jobStateName(await load()) } });
    } finally {
      // Also after a fault: the reader comes back.
      stream.end();
    }
  }
}
