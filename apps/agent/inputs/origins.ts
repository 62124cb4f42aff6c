import { Refused } from '../client/faults.js';
import { discard } from '../client/http.js';
import type { Head, Http } from '../client/http.js';
import { ExecutionFault, failure } from '../executions/ending.js';
import type { Continuation, Origin, Piece } from './transfer.js';
import type { WebClient } from './web-client.js';

/** About half a minute of waiting in all. */
const PATIENCE = 8;
const LONGEST_RETRY_AFTER = 60_000;

/** Our own artifact store. It is waited for without end: the node is no better off anywhere else. */
export const artifactOrigin = (http: Http, sha256: string): Origin => ({
  name: sha256,
  patience: Number.POSITIVE_INFINITY,
  immutable: true,
  open: async ({ from }, signal) => {
    const path = `/artifacts/${sha256}`;
    const answer = await http.stream(path, from > 0 ? { range: `bytes=${from}-` } : {}, signal);
    if (answer.status === 200 || answer.status === 206) return pieceOf(answer);
    discard(answer.body);
    if (answer.status === 404) throw missing(`the artifact store has no ${sha256}`);
    throw new Refused(answer.status, {}, `GET ${path}`, retryAfterOf(answer.headers));
  },
});

/** Somebody's server. */
export const webOrigin = (web: WebClient, url: string): Origin => ({
  name: url,
  patience: PATIENCE,
  immutable: false,
  open: async (continuation, signal) => {
    const answer = await web.get(url, rangeHeaders(continuation), signal);
    if (answer.status === 200 || answer.status === 206) return pieceOf(answer);
    discard(answer.body);
    const { status } = answer;
    if (status === 404 || status === 410) throw missing(`${url} answered ${status}`);
    if (status === 401) throw new ExecutionFault(failure('input', 'input-refused', `${url} answered 401`));
    throw new Refused(status, {}, `GET ${url}`, retryAfterOf(answer.headers));
  },
});

const missing = (message: string): ExecutionFault => new ExecutionFault(failure('input', 'input-missing', message));

const rangeHeaders = ({ from, validator }: Continuation): Record<string, string> => {
  if (from === 0) return {};
  const range = { range: `bytes=${from}-` };
  return validator === undefined ? range : { ...range, 'if-range': validator };
};

type Headers = Head['headers'];

const pieceOf = (answer: { status: number; headers: Headers; body: Piece['body'] }): Piece => {
  const { status, headers, body } = answer;
  const validator = validatorOf(headers);
  if (status === 206) {
    const [, start = '', size = ''] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(text(headers, 'content-range') ?? '') ?? [];
    // An answer in several parts, or one that does not say where it belongs, is never continued with.
    return { start: start === '' ? NaN : Number(start), body, size: numberOf(size), validator };
  }
  return { start: 0, body, size: numberOf(text(headers, 'content-length')), validator };
};

/** RFC 9110: only a strong tag tells that the bytes are the same; a date does so well enough when the server dates its files. */
const validatorOf = (headers: Headers): string | undefined => {
  const tag = text(headers, 'etag');
  return tag !== undefined && !tag.startsWith('W/') ? tag : text(headers, 'last-modified');
};

const text = (headers: Headers, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
};

const numberOf = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : undefined;

/** Seconds only: a date would be measured by another clock. */
const retryAfterOf = (headers: Headers): number =>
  Math.min(LONGEST_RETRY_AFTER, (numberOf(text(headers, 'retry-after')) ?? 0) * 1000);
