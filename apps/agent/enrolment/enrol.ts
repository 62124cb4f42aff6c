import type { EnrollAnswer, EnrollRequest } from '#contracts';
import type { Random, Timers } from '#kernel';
import type { Logger } from 'pino';
import { messageOf } from '../client/errors.js';
import { isTransient, Refused } from '../client/faults.js';
import type { Http } from '../client/http.js';
import { backoff, wait } from '../client/wait.js';
import { readIdentity, writeIdentity } from './identity.js';

export interface Enrolment {
  readonly data: string;
  /** The token that lets a new machine in; absent where the server asks for none. */
  readonly enrolmentToken: string | undefined;
  readonly request: EnrollRequest;
}

/** Enrolment that can never succeed as asked: a taken name, a wrong token, a bad inventory. */
class EnrolmentRefused extends Error {
  constructor(cause: unknown) {
    super(`enrolment refused: ${messageOf(cause)}`, { cause });
    this.name = 'EnrolmentRefused';
  }
}

/**
 * Enrols until it succeeds, is refused for good, or `signal` aborts. A machine that enrolled before shows its node token
 * first, which lets it keep its id; only a server that does not know that token sees the enrolment token.
 */
export const enrol = async (
  { data, enrolmentToken, request }: Enrolment,
  http: Http,
  timers: Timers,
  random: Random,
  log: Logger,
  signal: AbortSignal,
): Promise<EnrollAnswer> => {
  for (let failures = 0; ; failures += 1) {
    signal.throwIfAborted();
    try {
      const known = await readIdentity(data, request.name);
      const answer = await ask(http, request, [known?.token, enrolmentToken], signal);
      const identity = { name: request.name, nodeId: answer.nodeId, token: answer.token || known?.token || '' };
      await writeIdentity(data, identity);
      http.token = identity.token;
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Refused && (error.status === 401 || !isTransient(error))) throw new EnrolmentRefused(error);
      if (!isTransient(error)) throw error;
      log.warn({ reason: messageOf(error) }, 'enrolment waits for the server');
      await wait(timers, backoff(failures, random), signal);
    }
  }
};

/** Tries the tokens in turn, going on to the next only where one is not accepted. */
const ask = async (
  http: Http,
  body: EnrollRequest,
  tokens: readonly (string | undefined)[],
  signal: AbortSignal,
): Promise<EnrollAnswer> => {
  const usable = tokens.filter((token) => token !== undefined && token !== '');
  let refused: unknown;
  for (const token of usable.length > 0 ? usable : [undefined]) {
    try {
      return await http.json<EnrollAnswer>('POST', '/nodes/enroll', { body, token, signal });
    } catch (error) {
      if (!(error instanceof Refused) || ![401, 403, 409].includes(error.status)) throw error;
      refused ??= error;
    }
  }
  throw refused;
};
