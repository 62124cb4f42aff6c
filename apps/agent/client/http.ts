import type { Readable } from 'node:stream';
import type { Timers } from '#kernel';
import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { Refused, Unreachable } from './faults.js';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT';

export interface Call {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is; excludes `body`. */
  readonly bytes?: Uint8Array | Readable;
  readonly length?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds without an answer's head or a further byte. */
  readonly timeout?: number;
  readonly signal?: AbortSignal | undefined;
  readonly token?: string | undefined;
}

export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Streamed extends Head {
  readonly body: Readable;
}

const SHORT = 15_000;

/** HTTP below one base address, with the node's token. Faults are `Unreachable` or `Refused`. */
export class Http {
  token: string | undefined;
  private readonly dispatcher: Dispatcher = new Agent({ connections: 16, pipelining: 1, keepAliveTimeout: 30_000 });
  private readonly base: string;

  constructor(
    url: string,
    private readonly timers: Timers,
  ) {
    this.base = `${url.replace(/\/+$/, '')}/v1`;
  }

  /** The answer's JSON; an empty body reads as `{}`. */
  async json<Answer>(method: Method, path: string, call: Call = {}): Promise<Answer> {
    return this.timed(call, async (signal) => {
      const answer = await this.send(method, path, call, signal);
      const text = await answer.body.text();
      const parsed = parse(text);
      if (answer.statusCode >= 400) throw new Refused(answer.statusCode, record(parsed), `${method} ${path}`);
      return (parsed ?? {}) as Answer;
    });
  }

  /** Status and headers alone. Error statuses are answers here, not faults. */
  async head(path: string, call: Call = {}): Promise<Head> {
    return this.timed(call, async (signal) => {
      const answer = await this.send('HEAD', path, call, signal);
      await answer.body.dump();
      return { status: answer.statusCode, headers: answer.headers };
    });
  }

  /** The body as a stream; the waits for its head and for each further byte are limited, not the whole. */
  async stream(path: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Streamed> {
    const call = { timeout: 60_000, headers };
    const answer = await this.timed({ timeout: 120_000 }, () => this.send('GET', path, call, signal));
    return { status: answer.statusCode, headers: answer.headers, body: answer.body };
  }

  async close(): Promise<void> {
    await this.dispatcher.destroy();
  }

  private async send(
    method: Method,
    path: string,
    call: Call,
    signal: AbortSignal | undefined,
  ): Promise<Dispatcher.ResponseData> {
    const token = call.token ?? this.token;
    const headers: Record<string, string> = { accept: 'application/json', ...call.headers };
    if (token) headers['authorization'] = `Bearer ${token}`;
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    if (call.bytes !== undefined) headers['content-type'] = 'application/octet-stream';
    if (call.length !== undefined) headers['content-length'] = String(call.length);
    const body = call.body === undefined ? (call.bytes ?? null) : JSON.stringify(call.body);
    return request(this.base + path, {
      method,
      headers,
      body,
      dispatcher: this.dispatcher,
      headersTimeout: (call.timeout ?? SHORT) + 5_000,
      bodyTimeout: 120_000,
      signal: signal ?? null,
    });
  }

  private async timed<T>(call: Call, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController();
    const timer = this.timers.after(call.timeout ?? SHORT, () => limit.abort(new Error('no answer in time')));
    try {
      return await act(call.signal ? AbortSignal.any([call.signal, limit.signal]) : limit.signal);
    } catch (error) {
      throw error instanceof Refused ? error : new Unreachable(error);
    } finally {
      timer.cancel();
    }
  }
}

/** Ends a body that nobody reads; without this, its connection is never free again. */
export const discard = (body: Readable): void => {
  body.on('error', () => undefined).destroy();
};

const parse = (text: string): unknown => {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
