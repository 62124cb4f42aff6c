import { Controller, Get, Headers, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentCaller, EventStreams, Roles } from '#platform/http';
import type { Caller } from '#platform/http';
import { JobAccess } from '../job-access.js';
import { readRange, readWhatIf } from './audit-query.dto.js';
import { gathered } from './gathered.js';
import { ReaderLeft } from './decision-audit.js';
import { requireWholeView } from './whole-view.js';
import { Verification } from './verification.js';
import type { Finder } from './verification.js';

/**
 * The recorded decisions derived again. The answer comes at the end as JSON, or, to a caller that accepts
 * `text/event-stream`, as it is found: events named `progress`, one for each finding, at last `end` with the counts.
 */
@ApiTags('audit')
@Controller('v1')
@Roles('operator', 'auditor')
export class AuditController {
  constructor(
    private readonly verification: Verification,
    private readonly access: JobAccess,
    private readonly streams: EventStreams,
  ) {}

  @Get('audit/verify')
  @ApiOperation({ summary: 'Derive recorded decisions again and compare: `job`, `from` (exclusive), `to`' })
  async verify(
    @Query() query: unknown,
    @CurrentCaller() caller: Caller,
    @Res() reply: FastifyReply,
    @Headers('accept') accept?: string,
  ): Promise<void> {
    requireWholeView(caller);
    const range = readRange(query);
    if (range.jobId !== undefined) await this.access.maySee(range.jobId, caller);
    await this.answer(reply, accept, ['difference', 'differences'], (finder) =>
      this.verification.verify(range, finder),
    );
  }

  @Get('whatif')
  @ApiOperation({ summary: 'Recorded decisions that other weights would have made otherwise' })
  async whatIf(
    @Query() query: unknown,
    @CurrentCaller() caller: Caller,
    @Res() reply: FastifyReply,
    @Headers('accept') accept?: string,
  ): Promise<void> {
    requireWholeView(caller);
    const { range, ...other } = readWhatIf(query);
    if (range.jobId !== undefined) await this.access.maySee(range.jobId, caller);
    await this.answer(reply, accept, ['change', 'changes'], (finder) => this.verification.whatIf(range, other, finder));
  }

  private async answer<Found, Summary extends object>(
    reply: FastifyReply,
    accept: string | undefined,
    [one, all]: readonly [string, string],
    run: (finder: Finder<Found>) => Promise<Summary>,
  ): Promise<void> {
    this.verification.checkFree();
    if (accept?.includes('text/event-stream') === true) await this.stream(reply, one, run);
    else await reply.send(await gathered(all, run));
  }

  private async stream<Found, Summary extends object>(
    reply: FastifyReply,
    event: string,
    run: (finder: Finder<Found>) => Promise<Summary>,
  ): Promise<void> {
    const stream = this.streams.open(reply, 'decisions');
    const send = async (name: string, data: unknown): Promise<void> => {
      if (!stream.open) throw new ReaderLeft();
      await stream.send({ event: name, data });
    };
    try {
      await send('end', await run({ progress: (data) => send('progress', data), found: (data) => send(event, data) }));
    } catch (error) {
      if (!(error instanceof ReaderLeft)) throw error;
    } finally {
      // After a fault it ends without its `end`, by which the reader knows.
      stream.end();
    }
  }
}
