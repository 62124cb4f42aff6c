import type { Problem, ProblemItem } from '../problems.js';

/** The server refused or failed and said why. `code` is of the problem registry, or `UNKNOWN` for an answer that is none. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly code: string;
  readonly errors: readonly ProblemItem[];
  readonly retryable: boolean;

  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
    this.code = problem.code ?? 'UNKNOWN';
    this.errors = problem.errors ?? [];
    this.retryable = problem.retryable ?? status >= 500;
  }
}

/** No answer came: nothing listens there or the connection broke. Whether a write was done is then unknown. */
export class ServerUnreachable extends Error {
  override readonly name = 'ServerUnreachable';
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;
export type Headers = Readonly<Record<string, string | undefined>>;
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What can be sent as bytes: a `Blob` of a file, an array, or a stream. */
export type Bytes = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/v1`. */
  readonly path: string;
  readonly query?: Query;
  readonly headers?: Headers;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as they are, instead of `json`. */
  readonly bytes?: Bytes;
  readonly signal?: AbortSignal | undefined;
}

export interface Connection {
  /** Where the server is: `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly token?: string;
  readonly fetch?: Fetch;
}

const present = (headers: Headers): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined));

const bodyOf = ({ json, bytes }: HttpRequest): RequestInit => {
  if (bytes instanceof ReadableStream) return { body: bytes, duplex: 'half' };
  if (bytes) return { body: bytes };
  return json === undefined ? {} : { body: JSON.stringify(json) };
};

const typeOf = ({ json, bytes }: HttpRequest): string | undefined =>
  bytes ? 'application/octet-stream' : json === undefined ? undefined : 'application/json';

export const addressOf = (url: string, path: string, query: Query = {}): string => {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) text.set(name, String(value));
  return `${url.replace(/\/+$/, '')}/v1${path}${text.size === 0 ? '' : `?${text.toString()}`}`;
};

const problemOf = async (response: Response): Promise<ProblemError> => {
  const text = await response.text().catch(() => '');
  try {
    return new ProblemError(response.status, JSON.parse(text) as Partial<Problem>);
  } catch {
    return new ProblemError(response.status, {
      detail: text.slice(0, 300) || `the server answered ${response.status}`,
    });
  }
};

/** The message of the innermost cause: fetch itself only says that it failed. */
const causeOf = (error: unknown): string => {
  const { cause, message } = error as { readonly cause?: unknown; readonly message?: string };
  return typeof cause === 'object' && cause !== null ? causeOf(cause) : (message ?? String(error));
};

const unreachable = (url: string, error: unknown): ServerUnreachable =>
  new ServerUnreachable(`no answer from ${url}: ${causeOf(error)}`, { cause: error });

/**
 * One request. Rejects with `ProblemError` for an answer without success, with `ServerUnreachable` when none comes, and
 * with the signal's reason when that was the cause.
 */
export const send = async (connection: Connection, request: HttpRequest): Promise<Response> => {
  const { url, token, fetch = globalThis.fetch } = connection;
  const headers = present({
    'content-type': typeOf(request),
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    ...request.headers,
  });
  const init = {
    method: request.method,
    headers,
    ...bodyOf(request),
    ...(request.signal && { signal: request.signal }),
  };
  const response = await fetch(addressOf(url, request.path, request.query), init).catch((error: unknown) => {
    request.signal?.throwIfAborted();
    throw unreachable(url, error);
  });
  if (!response.ok) throw await problemOf(response);
  return response;
};
