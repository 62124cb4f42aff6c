import { Readable } from 'node:stream';
import { Controller, Get, Inject, Param, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { LogStore } from '#artifacts';
import type { Timers } from '#kernel';
import { CurrentCaller, EventStreams, ProblemException, Roles } from '#platform/http';
import type { Caller } from '#platform/http';
import { TIMERS } from '#platform/ports';
import { ClusterView } from '#scheduling';
import { jobStateName } from '../domain/state.js';
import type { JobState } from '../domain/state.js';
import { JobQueries } from '../read/index.js';
import { JobAccess } from './job-access.js';
import { LogFollower } from './log-follower.js';
import type { Followed } from './log-follower.js';
import { LOG_STREAMS, bytesOf, tailParts } from './log-text.js';

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
   * Plain text: the executions in the order of their reservation, of each first stdout, then stderr. With `follow=true`
   * server-sent events: `log` with `{executionId, stream, offset, next, text}`, at last `end` with the job's state. A stream
   * that breaks before its `end` is asked for again, and what lies below the last `next` passed over.
   */
  @Get()
  @ApiOperation({ summary: 'Logs of a job or of one of its executions; `tail` lines, `follow` until the job ends' })
  async read(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Res() reply: FastifyReply,
    @Query('execution') execution?: string,
    @Query('stream') stream?: string,
    @Query('tail') tail?: string,
    @Query('follow') follow?: string,
  ): Promise<void> {
    const { state } = await this.access.maySee(jobId, caller);
    const streams = streamsOf(stream);
    const lines = tailOf(tail);
    if (execution !== undefined && !(await this.has(state, execution))) {
      throw new ProblemException('EXECUTION_UNKNOWN', `job ${jobId} has no execution ${execution}`);
    }
    if (follow === 'true') return this.follow(jobId, { execution, streams, tail: lines }, reply);
    const executions = execution === undefined ? Object.keys(state.executions) : [execution];
    const all = executions.flatMap((executionId) => streams.map((one) => ({ executionId, stream: one, offset: 0 })));
    const parts = lines === undefined ? all : await tailParts(this.logs, all, lines);
    await reply.header('content-type', 'text/plain; charset=utf-8').send(Readable.from(bytesOf(this.logs, parts)));
  }

  /** A service's older executions are known to the read model alone. */
  private async has({ jobId, executions }: JobState, executionId: string): Promise<boolean> {
    return Object.hasOwn(executions, executionId) || (await this.jobs.history.hasExecution(jobId, executionId));
  }

  private async follow(jobId: string, followed: Followed, reply: FastifyReply): Promise<void> {
    const stream = this.streams.open(reply, 'logs');
    stream.keepAlive(this.timers);
    const load = async (): Promise<JobState> => (await this.access.load(jobId)).state;
    const follower = new LogFollower({ logs: this.logs, view: this.view, timers: this.timers, load, jobId });
    stream.onClose(() => follower.stop());
    try {
      for await (const chunk of follower.chunks(followed)) await stream.send({ event: 'log', data: chunk });
      await stream.send({ event: 'end', data: { state: jobStateName(await load()) } });
    } finally {
      // Also after a fault: the reader comes back.
      stream.end();
    }
  }
}

const streamsOf = (stream: string | undefined): readonly string[] => {
  if (stream === undefined) return LOG_STREAMS;
  if (LOG_STREAMS.includes(stream)) return [stream];
  throw new ProblemException('VALIDATION_FAILED', 'stream must be stdout or stderr');
};

const tailOf = (tail: string | undefined): number | undefined => {
  if (tail === undefined) return undefined;
  if (/^\d{1,9}$/.test(tail)) return Number(tail);
  throw new ProblemException('VALIDATION_FAILED', 'tail must be a number of lines');
};
