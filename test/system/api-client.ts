/** A small client for tests: what was answered, as it was answered. */
export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/* eslint-disable @typescript-eslint/no-explicit-any -- a test looks into answers of every shape */
export class ApiClient {
  constructor(
    readonly url: string,
    readonly token: Promise<string> | string,
  ) {}

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
    return { status: response.status, headers: response.headers, body: parse(text) as Body };
  }

  async get<Body = any>(path: string): Promise<Body> {
    return this.expect<Body>('GET', path);
  }

  async post<Body = any>(path: string, body: unknown = {}): Promise<Body> {
    return this.expect<Body>('POST', path, body);
  }

  async put<Body = any>(path: string, body: unknown = {}): Promise<Body> {
    return this.expect<Body>('PUT', path, body);
  }

  private async expect<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.request<Body>(method, path, body);
    if (answer.status >= 400)
      throw new Error(`${method} ${path}: ${String(answer.status)} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
