import { Inject, Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Observable } from 'rxjs';
import { POSITION_WAITER } from '../ports/tokens.js';
import type { PositionWaiter } from '../ports/tokens.js';
import { requestOf } from './caller.js';
import { ProblemException } from './problem-exception.js';

/** Longest wait for a read model, in milliseconds. */
const LONGEST_WAIT = 2_000;

/**
 * Read your own writes: a request with `Escalon-Min-Position` is answered when the read models have passed it, or after
 * two seconds with `Escalon-Stale: true`.
 */
@Injectable()
export class MinPositionInterceptor implements NestInterceptor {
  constructor(@Inject(POSITION_WAITER) private readonly waiter: PositionWaiter) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const header = requestOf(context).headers['escalon-min-position'];
    if (header !== undefined && context.getType() === 'http') {
      const passed = await this.waiter.wait(positionOf(header), LONGEST_WAIT);
      if (!passed) void context.switchToHttp().getResponse<FastifyReply>().header('escalon-stale', 'true');
    }
    return next.handle();
  }
}

const positionOf = (header: string | string[]): bigint => {
  if (typeof header !== 'string' || !/^\d{1,20}$/.test(header)) {
    throw new ProblemException('POSITION_INVALID', 'Escalon-Min-Position is a whole number');
  }
  return BigInt(header);
};
