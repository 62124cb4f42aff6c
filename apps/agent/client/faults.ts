import { messageOf } from './errors.js';

/** No answer: the server could not be reached, broke off, or took too long. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super(causeOf(cause), { cause });
    this.name = 'Unreachable';
  }
}

/** `fetch` says only that it failed; why is in the error behind it. */
const causeOf = (error: unknown): string =>
  messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);

/**
 * The server answered with an error status; `problem` is its `application/problem+json` body, or empty. `retryAfter` is how
 * long it wants to be left alone, in milliseconds.
 */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Readonly<Record<string, unknown>>,
    request: string,
    readonly retryAfter = 0,
  ) {
    const detail = [problem['detail'], problem['title']].find((text) => typeof text === 'string');
    super(`${request} answered ${status}${detail === undefined ? '' : `: ${detail}`}`);
    this.name = 'Refused';
  }
}

/** Whether trying the same request again later may help. 401 counts: a server that forgot the node's token gets it renewed. */
export const isTransient = (error: unknown): boolean =>
  error instanceof Unreachable ||
  (error instanceof Refused && (error.status >= 500 || [401, 408, 429].includes(error.status)));
