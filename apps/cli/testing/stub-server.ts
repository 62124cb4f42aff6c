import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

type Answer = unknown;

/** An API that answers from a table of `METHOD /path`; a list of answers is given one after the other, the last for ever. */
export interface StubServer {
  readonly url: string;
  readonly requests: readonly StubRequest[];
  close(): Promise<void>;
}

export const stubServer = async (answers: Readonly<Record<string, Answer>>): Promise<StubServer> => {
  const requests: StubRequest[] = [];
  const turns = new Map<string, number>();
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const path = (request.url ?? '').replace(/^\/v1/, '');
      const method = request.method ?? '';
      requests.push({ method, path, headers: request.headers, body });
      const key = `${method} ${path.replace(/\?.*/, '')}`;
      const turn = turns.get(key) ?? 0;
      turns.set(key, turn + 1);
      const { status, json, events, breaks } = answerOf(answers[key], turn);
      if (events === undefined)
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
      else if (!breaks) response.writeHead(status, { 'content-type': 'text/event-stream' }).end(events);
      else response.writeHead(status, { 'content-type': 'text/event-stream' }).write(events, () => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, requests, close };
};

/** What is given as an answer with a status is that; anything else is the body of a 200. */
export const withStatus = (status: number, json: unknown): Answer => ({ stubStatus: status, json });

/** Server-sent events, each a name and its data. */
export const withEvents = (...events: readonly (readonly [name: string, data: unknown])[]): Answer => ({
  stubStatus: 200,
  events: events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
});

/** The connection breaks where these events end. */
export const brokenOff = (events: Answer): Answer => ({ ...(events as object), breaks: true });

interface Content {
  readonly json?: unknown;
  readonly events?: string;
  readonly breaks?: boolean;
}

const answerOf = (answer: Answer, turn: number): Content & { readonly status: number } => {
  const given: unknown = Array.isArray(answer) ? answer[Math.min(turn, answer.length - 1)] : answer;
  if (given === undefined) return { status: 404, json: { code: 'NOT_FOUND', detail: 'the stub has no such answer' } };
  const { stubStatus, ...content } = given as Content & { stubStatus?: number };
  return stubStatus === undefined ? { status: 200, json: given } : { status: stubStatus, ...content };
};
