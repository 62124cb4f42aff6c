import { Controller, Get, Headers, Inject, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { START, rawEvent } from '#event-store';
import type { EventStore, RecordedEvent } from '#event-store';
import { requireWholeView } from '#jobs/api';
import { CurrentCaller, EventStreams, ProblemException, Roles, limitText, readQuery } from '#platform/http';
import type { Caller } from '#platform/http';
import { EVENT_STORE, TIMERS } from '#platform/ports';
import { Optional, choice, text } from '#platform/validation';
import type { Timers } from '#kernel';

/** Events a caller may get in one answer without `follow`. */
const MOST = 10_000;

class EventsQuery {
  @Optional(text())
  readonly from?: string;

  @Optional(choice(['true', 'false']))
  readonly follow?: string;

  @Optional(limitText)
  readonly limit?: string;
}

/** The whole log, for auditors and for programs that follow it. */
@ApiTags('system')
@Controller('v1/events')
@Roles('operator', 'auditor')
export class EventsController {
  constructor(
    private readonly streams: EventStreams,
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(TIMERS) private readonly timers: Timers,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Events after a position, oldest first; `follow=true` streams them as server-sent events' })
  async read(
    @Query() query: unknown,
    @CurrentCaller() caller: Caller,
    @Res() reply: FastifyReply,
    @Headers('last-event-id') lastEventId?: string,
  ): Promise<void> {
    requireWholeView(caller);
    const { from, follow, limit = String(MOST) } = readQuery(EventsQuery, query);
    const after = positionOf(lastEventId ?? from);
    if (follow === 'true') {
      this.follow(reply, after);
      return;
    }
    const most = Math.min(MOST, Number(limit));
    const items: object[] = [];
    let last = after;
    for await (const event of this.store.readAll({ after })) {
      if (items.length === most) {
        await reply.send({ items, next: String(last) });
        return;
      }
      items.push(rawEvent(event));
      last = event.position;
    }
    await reply.send({ items, next: null });
  }

  private follow(reply: FastifyReply, after: bigint): void {
    const stream = this.streams.open(reply, 'events');
    const event = (recorded: RecordedEvent): Promise<void> =>
      stream.send({ id: String(recorded.position), event: recorded.type, data: rawEvent(recorded) });
    const subscription = this.store.subscribe({ after }, { event, failed: () => stream.end() });
    stream.keepAlive(this.timers);
    stream.onClose(() => void subscription.stop());
  }
}

/** Positions are 64 bits wide; -1 stands before the first. */
const positionOf = (text: string | undefined): bigint => {
  if (text === undefined) return START;
  if (!/^(?:-1|\d{1,19})$/.test(text) || BigInt(text) >= 2n ** 63n) {
    throw new ProblemException('POSITION_INVALID', 'a position is a whole number');
  }
  return BigInt(text);
};
