import { Inject, Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { POSITION_WAITER } from '../ports/tokens.js';
import type { PositionWaiter } from '../ports/tokens.js';
import { requestOf } from './caller.js';
import { ProblemException } from './problem-exception.js';

/** Longest wait for a read model, in milliseconds. */
const LONGEST_WAIT = 2_000;

/**
 * Read your own writes: a request with `Escalon-Min-Position` is answered when the read models have passed it, or after
 * two seconds with `Escalon-Stale: true`. It lets everybody through; a guard, because one global interceptor would send
 * every request of every route through streams of observables, a sixth of what a small request costs.
 */
@Injectable()
export class MinPositionGuard implements CanActivate {
  constructor(@Inject(POSITION_WAITER) private readonly waiter: PositionWaiter) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const header = requestOf(context).headers['escalon-min-position'];
    return header === undefined || this.wait(positionOf(header), context);
  }

  private async wait(position: bigint, context: ExecutionContext): Promise<boolean> {
    const passed = await this.waiter.wait(position, LONGEST_WAIT);
    if (!passed) void context.switchToHttp().getResponse<FastifyReply>().header('escalon-stale', 'true');
    return true;
  }
}

const positionOf = (header: string | string[]): bigint => {
  if (typeof header !== 'string' || !/^\d{1,20}$/.test(header)) {
    throw new ProblemException('POSITION_INVALID', 'Escalon-Min-Position is a whole number');
  }
  return BigInt(header);
};
