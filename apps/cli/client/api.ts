import type { Problem } from '#contracts';
import type { Millis, Timers } from '#kernel';
import type { Connection } from '../connection.js';

/** The server answered with a problem document. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
  }
}

/** No answer came: nothing listens there, the connection broke, or it took too long. */
export class ServerUnreachable extends Error {
  override readonly name = 'ServerUnreachable';
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly bytes?: Blob;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A page of a list. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string | null;
}

const ANSWER_WITHIN: Millis = 60_000;
const LARGEST_PAGE = 200;

/** The REST API below `/v1`, as one account. */
export class Api {
  constructor(
    readonly connection: Connection,
    private readonly timers: Timers,
  ) {}

  async get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    return (await (await this.request('GET', path, { query })).json()) as Answer;
  }

  async post<Answer>(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return (await (await this.request('POST', path, { body, headers })).json()) as Answer;
  }

  async put<Answer>(path: string, body: unknown): Promise<Answer> {
    return (await (await this.request('PUT', path, { body })).json()) as Answer;
  }

  /** Every item of a list, page by page, `limit` at most. */
  async list<Item>(path: string, query: Query = {}, limit = Number.POSITIVE_INFINITY): Promise<Item[]> {
    const items: Item[] = [];
    let cursor: string | undefined;
    do {
      const size = Math.min(LARGEST_PAGE, limit - items.length);
      const page: Page<Item> = await this.get(path, { ...query, limit: size, cursor });
      items.push(...page.items);
      cursor = page.next ?? undefined;
    } while (cursor !== undefined && items.length < limit);
    return items.slice(0, limit);
  }

  /**
   * One request. Rejects with `ApiProblem` for an answer that is none of success, with `ServerUnreachable` when no answer
   * comes within a minute; a body may then be read for as long as it flows.
   */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const late = new AbortController();
    const timer = this.timers.after(ANSWER_WITHIN, () => late.abort());
    const url = `${this.connection.url}/v1${path}${queryText(options.query)}`;
    try {
      const response = await fetch(url, { method, ...this.message(options), signal: late.signal });
      if (!response.ok) throw await problemOf(response);
      return response;
    } catch (error) {
      if (error instanceof ApiProblem) throw error;
      throw new ServerUnreachable(this.explain(error, late.signal.aborted), { cause: error });
    } finally {
      timer.cancel();
    }
  }

  private message({ body, bytes, headers }: RequestOptions): { headers: Record<string, string>; body?: string | Blob } {
    const { token } = this.connection;
    const all = { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    if (bytes) return { headers: { 'content-type': 'application/octet-stream', ...all }, body: bytes };
    if (body === undefined) return { headers: all };
    return { headers: { 'content-type': 'application/json', ...all }, body: JSON.stringify(body) };
  }

  private explain(error: unknown, late: boolean): string {
    const { url } = this.connection;
    if (late) return `${url} has not answered within ${ANSWER_WITHIN / 1000} s`;
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    if (cause?.code === 'ECONNREFUSED') return `nothing answers at ${url}; \`escalon up\` starts the system here`;
    return `cannot reach ${url}: ${cause?.message ?? (error instanceof Error ? error.message : String(error))}`;
  }
}

const queryText = (query: Query = {}): string => {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) text.set(name, String(value));
  return text.size === 0 ? '' : `?${text.toString()}`;
};

const problemOf = async (response: Response): Promise<ApiProblem> => {
  const text = await response.text().catch(() => '');
  try {
    return new ApiProblem(response.status, JSON.parse(text) as Partial<Problem>);
  } catch {
    return new ApiProblem(response.status, {
      title: `the server answered ${response.status}`,
      detail: text.slice(0, 300),
    });
  }
};
