import { Catch, HttpException, Inject } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { toProblem } from '#contracts';
import type { Problem } from '#contracts';
import type { Logger } from '../logging/logger.js';
import { LOGGER } from '../ports/tokens.js';
import { ProblemException } from './problem-exception.js';

const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'MALFORMED_JSON',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
};

/** Faults by name: these are the store's way to say that a write's outcome is unknown, or that it was refused whole. */
const BY_NAME: Readonly<Record<string, string>> = {
  EventStoreUnavailable: 'STORE_UNAVAILABLE',
  EventTooLarge: 'PAYLOAD_TOO_LARGE',
  ContendedStream: 'STREAM_CONTENDED',
  InvalidCursor: 'CURSOR_INVALID',
};

/** The problem that a thrown thing stands for; what nobody expected is INTERNAL and says nothing of its inside. */
export const problemOf = (thrown: unknown): Problem => {
  if (thrown instanceof ProblemException) return thrown.problem;
  if (thrown instanceof HttpException) return ofStatus(thrown.getStatus(), thrown.message);
  if (!(thrown instanceof Error)) return toProblem('INTERNAL', 'something unexpected happened');
  const code = BY_NAME[thrown.name];
  if (code !== undefined) return toProblem(code, thrown.message);
  const { statusCode } = thrown as { statusCode?: number };
  if (statusCode !== undefined && statusCode < 500) return ofStatus(statusCode, thrown.message);
  return toProblem('INTERNAL', 'something unexpected happened');
};

const ofStatus = (status: number, message: string): Problem => toProblem(BY_STATUS[status] ?? 'INTERNAL', message);

/** Every error leaves as `application/problem+json`. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly log: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): unknown {
    const problem = problemOf(thrown);
    if (problem.status >= 500) this.log.error({ err: thrown, code: problem.code }, 'request failed');
    if (host.getType<'http' | 'graphql'>() !== 'http') throw thrown;
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return undefined;
    return reply
      .status(problem.status)
      .header('content-type', 'application/problem+json')
      .send(JSON.stringify(problem));
  }
}
