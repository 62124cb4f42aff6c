import type { FastifyReply } from 'fastify';
import type { Rejection } from '#kernel';
import { ProblemException } from './problem-exception.js';

/** What the generic command handler answers, as far as HTTP looks at it. */
type Outcome<State> =
  | { readonly kind: 'done'; readonly state: State; readonly revision: bigint; readonly position: bigint }
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  | { readonly kind: 'revision-mismatch'; readonly actual: bigint | 'none' };

/** The new state behind a write, with `ETag` and `Escalon-Position` set; a refusal becomes its problem. */
export const answered = <State>(outcome: Outcome<State>, reply: FastifyReply): State => {
  const done = doneOrThrow(outcome);
  void reply.header('etag', `"${String(done.revision)}"`).header('escalon-position', String(done.position));
  return done.state;
};

/** The outcome if the command was accepted. Throws the problem of a refusal. */
export const doneOrThrow = <State>(outcome: Outcome<State>): Extract<Outcome<State>, { kind: 'done' }> => {
  switch (outcome.kind) {
    case 'done':
      return outcome;
    case 'rejected':
      throw ProblemException.of(outcome.rejection);
    case 'revision-mismatch':
      throw new ProblemException('REVISION_MISMATCH', `the revision is ${String(outcome.actual)}`);
  }
};

/** The revision of an `If-Match: "12"` header, if there is one. */
export const ifMatch = (header: string | undefined): { expected?: bigint } => {
  if (header === undefined || header === '*') return {};
  const match = /^"(\d{1,20})"$/.exec(header);
  if (!match?.[1]) throw new ProblemException('REVISION_MISMATCH', 'If-Match holds a strong ETag: "<revision>"');
  return { expected: BigInt(match[1]) };
};
