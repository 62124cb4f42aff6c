import { Controller, Get, Headers, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { START } from '#event-store';
import type { EventStore, RecordedEvent } from '#event-store';
import { rawEvent } from '#jobs/api';
import { ProblemException, Roles } from '#platform/http';
import { EVENT_STORE, TIMERS } from '#platform/ports';
import type { Timers } from '#kernel';

/** Events a caller may get in one answer without `follow`. */
const MOST = 10_000;
/** A comment line keeps proxies from closing a quiet stream. */
const KEEP_ALIVE = 15_000;

/** The whole log, for auditors and for programs that follow it. */
@ApiTags('system')
@Controller('v1/events')
@Roles('operator', 'auditor')
export class EventsController {
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(TIMERS) private readonly timers: Timers,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Events after a position, oldest first; `follow=true` streams them as server-sent events' })
  async read(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query('from') from?: string,
    @Query('follow') follow?: string,
    @Headers('last-event-id') lastEventId?: string,
  ): Promise<void> {
    const after = positionOf(lastEventId ?? from);
    if (follow === 'true') {
      this.follow(request, reply, after);
      return;
    }
    const items: unknown[] = [];
    for await (const event of this.store.readAll({ after })) {
      items.push(rawEvent(event));
      if (items.length === MOST) break;
    }
    await reply.send({ items });
  }

  /** Waits for a slow reader: the subscription delivers the next event when this one was taken. */
  private follow(request: FastifyRequest, reply: FastifyReply, after: bigint): void {
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', connection: 'keep-alive' });
    raw.write(': events\n\n');
    const write = (event: RecordedEvent): void | Promise<void> => {
      const taken = raw.write(
        `id: ${String(event.position)}\nevent: ${event.type}\ndata: ${JSON.stringify(rawEvent(event))}\n\n`,
      );
      if (taken || raw.destroyed) return;
      return new Promise((resolve) => {
        raw.once('drain', resolve);
        raw.once('close', resolve);
      });
    };
    const subscription = this.store.subscribe({ after }, { event: write, failed: () => raw.end() });
    const alive = this.timers.every(KEEP_ALIVE, () => void raw.write(': alive\n\n'));
    request.raw.on('close', () => {
      alive.cancel();
      void subscription.stop();
    });
  }
}

const positionOf = (text: string | undefined): bigint => {
  if (text === undefined || text === '') return START;
  if (!/^-?\d{1,20}$/.test(text)) throw new ProblemException('POSITION_INVALID', 'a position is a whole number');
  return BigInt(text);
};
