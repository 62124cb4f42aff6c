import { toProblem } from '#contracts';
import type { Problem, ProblemCode, ProblemExtras } from '#contracts';
import type { Rejection } from '#kernel';

/** Ends a request with a problem document. */
export class ProblemException extends Error {
  override readonly name = 'ProblemException';
  readonly problem: Problem;

  constructor(code: ProblemCode | (string & {}), detail: string, extras?: ProblemExtras) {
    super(detail);
    this.problem = toProblem(code, detail, extras);
  }

  /** A domain's refusal, as it is told outside. */
  static of(rejection: Rejection): ProblemException {
    const { code, message, details } = rejection;
    return new ProblemException(code, message, details === undefined ? undefined : { details });
  }
}
