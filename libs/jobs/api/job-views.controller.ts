import { Controller, Get, Inject, Param, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { rawEvent } from '#event-store';
import type { EventStore, RecordedEvent } from '#event-store';
import { CurrentCaller, ListQuery, ProblemException, Roles, readQuery } from '#platform/http';
import type { Caller } from '#platform/http';
import { EVENT_STORE } from '#platform/ports';
import { InvalidCursor, pageLimit, pageOf, readCursor, writeCursor } from '#read-store';
import type { Page, PageRequest } from '#read-store';
import { jobStream } from '../domain/events.js';
import { JobQueries } from '../read/index.js';
import { JobListQuery, NoQuery, QueueQuery, TimelineQuery, readDecision, sinceOf } from './dto/index.js';
import { JobAccess } from './job-access.js';
import { Explanations } from './explain/explanations.js';
import { dataFor, decisionFor } from './explain/naming.js';
import { QueueOrder } from './queue-order.js';
import { resultsOf } from './results.js';

/** What people read of jobs. */
@ApiTags('jobs')
@Controller('v1')
@Roles('researcher', 'operator', 'auditor', 'node')
export class JobViewsController {
  constructor(
    private readonly jobs: JobQueries,
    private readonly order: QueueOrder,
    private readonly access: JobAccess,
    private readonly explanations: Explanations,
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
    return this.order.list({ ...readQuery(QueueQuery, query), visible: this.access.visibleProjects(caller) });
  }

  @Get('jobs/:id')
  @ApiOperation({ summary: 'One job; ETag is its revision' })
  async show(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    await this.access.maySee(jobId, caller);
    const job = await this.jobs.get(jobId, this.access.visibleProjects(caller));
    if (!job) throw new ProblemException('JOB_NOT_FOUND', `job ${jobId} is not in the read model yet`);
    void reply.header('etag', `"${job.revision}"`);
    return job;
  }

  @Get('jobs/:id/timeline')
  @ApiOperation({ summary: 'Every movement of the job, oldest first; of one `execution`, of one `type`, in pages' })
  async timeline(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Query() query: unknown,
  ): Promise<unknown> {
    const { state } = await this.access.maySee(jobId, caller);
    const naming = this.explanations.namingFor(caller, state);
    const asked = { ...readQuery(TimelineQuery, query), visible: this.access.visibleProjects(caller) };
    const { items, next } = await this.jobs.history.timeline(jobId, asked);
    return { items: items.map((one) => ({ ...one, data: dataFor(one.type, one.data, naming) })), next };
  }

  @Get('jobs/:id/decisions')
  @ApiOperation({ summary: 'Every placement decision with its reasons, oldest first' })
  async decisions(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Query() query: unknown,
  ): Promise<unknown> {
    const { state } = await this.access.maySee(jobId, caller);
    const { items, next } = await this.jobs.history.decisions(jobId, readQuery(ListQuery, query));
    return { items: items.map((one) => decisionFor(one, this.explanations.namingFor(caller, state))), next };
  }

  @Get('jobs/:id/decisions/:number')
  @ApiOperation({ summary: 'One decision, with the explanation in words' })
  async decision(
    @Param('id') jobId: string,
    @Param('number') given: string,
    @CurrentCaller() caller: Caller,
    @Query() query: unknown,
  ): Promise<unknown> {
    const { state } = await this.access.maySee(jobId, caller);
    const { number, node } = readDecision(given, query);
    return this.explanations.decision(state, caller, number, node);
  }

  @Get('jobs/:id/executions')
  @ApiOperation({ summary: 'Every try of the job, newest first' })
  async executions(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Query() query: unknown,
  ): Promise<unknown> {
    await this.access.maySee(jobId, caller);
    return this.jobs.history.executions(jobId, readQuery(ListQuery, query));
  }

  /** From the stream itself, so that a result is there as soon as it is recorded. */
  @Get('jobs/:id/results')
  @ApiOperation({ summary: 'What each try left behind: artifacts, exit code, consumption' })
  async results(
    @Param('id') jobId: string,
    @CurrentCaller() caller: Caller,
    @Query() query: unknown,
  ): Promise<unknown> {
    const { state } = await this.access.maySee(jobId, caller);
    readQuery(NoQuery, query);
    return resultsOf(state);
  }

  @Get('jobs/:id/events')
  @ApiOperation({ summary: 'The raw events of the job, oldest first' })
  async events(@Param('id') jobId: string, @CurrentCaller() caller: Caller, @Query() query: unknown): Promise<unknown> {
    const { state } = await this.access.maySee(jobId, caller);
    const naming = this.explanations.namingFor(caller, state);
    const { items, next } = await rawEvents(this.store, jobId, readQuery(ListQuery, query));
    return { items: items.map((event) => rawEvent({ ...event, data: dataFor(event.type, event.data, naming) })), next };
  }
}

/** In pages; without a limit all of them. Throws `InvalidCursor`. */
const rawEvents = async (
  store: EventStore,
  jobId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<RecordedEvent>> => {
  const filter = { eventsOf: jobId };
  const [key] = readCursor(cursor, filter, 1) ?? [];
  if (key !== undefined && !/^\d{1,18}$/.test(key)) throw new InvalidCursor();
  const size = limit === undefined ? Infinity : pageLimit(limit);
  const events: RecordedEvent[] = [];
  for await (const event of store.readStream(jobStream(jobId), { from: key === undefined ? 0n : BigInt(key) + 1n })) {
    events.push(event);
    if (events.length > size) break;
  }
  return pageOf(events, size, ({ revision }) => writeCursor([String(revision)], filter));
};
