/** A small client for tests: what was answered, as it was answered. */
export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/**
 * How far in the log a test knows things to have happened. Read models follow the log in their own time, so whoever reads them
 * says what they must hold already, as the clients for users do.
 */
export class KnownPosition {
  private last = 0n;

  heard(position: string | null | undefined): void {
    if (typeof position !== 'string') return;
    const at = BigInt(position);
    if (at > this.last) this.last = at;
  }

  get header(): Readonly<Record<string, string>> {
    return this.last === 0n ? {} : { 'escalon-min-position': String(this.last) };
  }
}

/* eslint-disable @typescript-eslint/no-explicit-any -- a test looks into answers of every shape */
export class ApiClient {
  constructor(
    readonly url: string,
    readonly token: Promise<string> | string,
    readonly known = new KnownPosition(),
  ) {}

  /** One request as it is, and its answer whatever it says. */
  async request<Body = any>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer<Body>> {
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const address = /^\/(v1|livez|readyz|metrics|docs|graphql)\b/.test(path) ? path : `/v1${path}`;
    const response = await fetch(this.url + address, {
      method,
      headers: { authorization: `Bearer ${await this.token}`, ...json, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    this.known.heard(response.headers.get('escalon-position'));
    return { status: response.status, headers: response.headers, body: parse(text) as Body };
  }

  /** Reads what was written before: the read models have passed every position that this test knows. */
  async get<Body = any>(path: string): Promise<Body> {
    for (;;) {
      const answer = await this.request<Body>('GET', path, undefined, this.known.header);
      // The server waits two seconds for its read models; here it may take as long as it takes.
      if (answer.headers.get('escalon-stale') === null) return bodyOf('GET', path, answer);
    }
  }

  /** Reads what no read model stands behind. */
  async read<Body = any>(path: string): Promise<Body> {
    return this.expect<Body>('GET', path);
  }

  async post<Body = any>(path: string, body: unknown = {}): Promise<Body> {
    return this.expect<Body>('POST', path, body);
  }

  async put<Body = any>(path: string, body: unknown = {}): Promise<Body> {
    return this.expect<Body>('PUT', path, body);
  }

  private async expect<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    return bodyOf(method, path, await this.request<Body>(method, path, body));
  }
}

const bodyOf = <Body>(method: string, path: string, { status, body }: Answer<Body>): Body => {
  if (status >= 400) throw new Error(`${method} ${path}: ${String(status)} ${JSON.stringify(body)}`);
  return body;
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
