import { createHash } from 'node:crypto';
import { Inject, Injectable, SetMetadata, UseInterceptors, applyDecorators } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { from, lastValueFrom, of } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Logger } from '../logging/logger.js';
import { ANSWERS, LOGGER } from '../ports/tokens.js';
import type { AnswerKey, Answers, KeptAnswer } from '../ports/tokens.js';
import { requestOf } from './caller.js';
import type { AuthenticatedRequest } from './caller.js';
import { idempotencyKeyOf } from './idempotency-key.js';
import { ProblemException } from './problem-exception.js';

/** Headers that belong to an answer. */
const KEPT_HEADERS = ['etag', 'escalon-position', 'location'] as const;

interface Kept {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * A request with an `Idempotency-Key` runs once: repeated, it gets the answer of the first, with `Idempotency-Replayed`;
 * while the first still runs, 409; for another request, 422. A refusal has changed nothing and leaves the key free.
 */
@Injectable()
class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    @Inject(ANSWERS) private readonly answers: Answers,
    @Inject(LOGGER) private readonly log: Logger,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = requestOf(context);
    const header = request.headers['idempotency-key'];
    if (header === undefined) return next.handle();
    const key = keyOf(request, idempotencyKeyOf(String(header)) ?? '');
    const outcome = await this.answers.begin(key);
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    switch (outcome.kind) {
      case 'new':
        return from(this.run(key, next, reply));
      case 'answered':
        return of(replay(outcome.answer, reply));
      case 'running':
        throw new ProblemException('IDEMPOTENCY_IN_PROGRESS', 'the first request with this key is not answered yet');
      case 'reused':
        throw new ProblemException('IDEMPOTENCY_KEY_REUSED', 'this key was sent with another request');
    }
  }

  private async run(key: AnswerKey, next: CallHandler, reply: FastifyReply): Promise<unknown> {
    let body: unknown;
    try {
      body = await lastValueFrom(next.handle());
    } catch (error) {
      await this.unlessItFails(() => this.answers.forget(key));
      throw error;
    }
    const headers = Object.fromEntries(
      KEPT_HEADERS.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
    );
    const kept: Kept = { headers, body };
    await this.unlessItFails(() => this.answers.finish(key, { status: reply.statusCode, body: kept }));
    return body;
  }

  /** What was done is done: the caller is told so, even when it cannot be remembered. */
  private async unlessItFails(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.log.warn({ err: error }, 'an answer was not kept');
    }
  }
}

/** Which part sees to it that a repeated request does nothing twice: every POST says so. */
export const REPEATS = 'escalon:repeats';

/** The handler runs once for each `Idempotency-Key`. */
export const Idempotent = (): MethodDecorator =>
  applyDecorators(SetMetadata(REPEATS, 'answers'), UseInterceptors(IdempotencyInterceptor));

/** The handler is safe to repeat by itself, or its answer is a secret that is kept nowhere: nothing is remembered. */
export const OwnIdempotency = (): MethodDecorator & ClassDecorator => SetMetadata(REPEATS, 'handler');

const keyOf = (request: AuthenticatedRequest, key: string): AnswerKey => {
  const said = JSON.stringify([request.method, request.url, request.headers['if-match'], request.body]);
  const fingerprint = createHash('sha256').update(said).digest('hex');
  return { account: request.caller?.account ?? '', key, fingerprint };
};

const replay = ({ status, body }: KeptAnswer, reply: FastifyReply): unknown => {
  const kept = body as Kept;
  void reply.status(status).headers({ ...kept.headers, 'idempotency-replayed': 'true' });
  return kept.body;
};
