import { Catch, HttpException, Inject } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { toProblem } from '#contracts';
import type { Problem } from '#contracts';
import type { Logger } from '../logging/logger.js';
import { LOGGER } from '../ports/tokens.js';
import { ProblemException } from './problem-exception.js';

const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'REQUEST_MALFORMED',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
};

/** What the server itself refuses, before any handler sees it. */
const BY_CODE: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'MALFORMED_JSON',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'MALFORMED_JSON',
  FST_ERR_BAD_URL: 'NOT_FOUND',
  FST_ERR_MAX_PARAM_LENGTH: 'NOT_FOUND',
};

/** What Postgres and its driver say when the database is away or goes away. */
const DATABASE_AWAY: readonly unknown[] = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03', '08006'];

/** Faults by name: these are the store's way to say that a write's outcome is unknown, or that it was refused whole. */
const BY_NAME: Readonly<Record<string, string>> = {
  EventStoreUnavailable: 'STORE_UNAVAILABLE',
  EventTooLarge: 'PAYLOAD_TOO_LARGE',
  ContendedStream: 'STREAM_CONTENDED',
  InvalidCursor: 'CURSOR_INVALID',
  InvalidFilter: 'VALIDATION_FAILED',
};

/** The problem that a thrown thing stands for; what nobody expected is INTERNAL and says nothing of its inside. */
export const problemOf = (thrown: unknown): Problem => {
  if (thrown instanceof ProblemException) return thrown.problem;
  if (thrown instanceof HttpException) return ofStatus(thrown.getStatus(), thrown.message);
  if (!(thrown instanceof Error)) return toProblem('INTERNAL', 'something unexpected happened');
  const code = BY_NAME[thrown.name];
  if (code !== undefined) return toProblem(code, thrown.message);
  return databaseProblem(thrown) ?? serverProblem(thrown) ?? toProblem('INTERNAL', 'something unexpected happened');
};

const databaseProblem = (thrown: Error): Problem | undefined => {
  const cause = thrown as { code?: unknown; driverError?: { code?: unknown; message?: string } };
  const said = cause.driverError ?? cause;
  // Class 22: a value in the request is none that a column could hold, so nothing can be found by it.
  if (typeof said.code === 'string' && /^22[0-9A-Z]{3}$/.test(said.code)) {
    return toProblem('VALIDATION_FAILED', 'a value cannot be looked for');
  }
  const terminated = /^Connection terminated/.test(cause.driverError?.message ?? thrown.message);
  if (!terminated && !DATABASE_AWAY.includes(said.code)) return undefined;
  return toProblem('READ_STORE_UNAVAILABLE', 'the database does not answer');
};

const serverProblem = (thrown: Error): Problem | undefined => {
  const { statusCode, code = '' } = thrown as { statusCode?: number; code?: string };
  if (BY_CODE[code] !== undefined) return toProblem(BY_CODE[code], thrown.message);
  return statusCode !== undefined && statusCode < 500 ? ofStatus(statusCode, thrown.message) : undefined;
};

const ofStatus = (status: number, message: string): Problem =>
  toProblem(BY_STATUS[status] ?? (status < 500 ? 'REQUEST_MALFORMED' : 'INTERNAL'), message);

/** Sends a problem document; who is not known is told how to say it, and who came too early when to come back. */
export const sendProblem = (reply: FastifyReply, problem: Problem): FastifyReply => {
  if (problem.status === 401) void reply.header('www-authenticate', 'Bearer');
  if (problem.status === 503) void reply.header('retry-after', '1');
  return reply.status(problem.status).header('content-type', 'application/problem+json').send(JSON.stringify(problem));
};

/** The caller left in the middle of its own body. */
const isAborted = (thrown: unknown): boolean =>
  thrown instanceof Error && thrown.message === 'aborted' && (thrown as { code?: unknown }).code === 'ECONNRESET';

/** Every error leaves as `application/problem+json`. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly log: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): unknown {
    const problem = problemOf(thrown);
    if (problem.status >= 500 && !isAborted(thrown))
      this.log.error({ err: thrown, code: problem.code }, 'request failed');
    if (host.getType<'http' | 'graphql'>() !== 'http') throw thrown;
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    return reply.sent ? undefined : sendProblem(reply, problem);
  }
}
