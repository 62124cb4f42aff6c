import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeTime } from '#kernel';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toProblem } from '../problems.js';
import { EscalonClient } from './client.js';
import { ProblemError, ServerUnreachable } from './http.js';
import type { JobView } from './views.js';

interface Seen {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (request: Seen, response: ServerResponse) => void;

/** A server on the loopback that answers as each test says and keeps what it was sent. */
let server: Server;
let url: string;
let seen: Seen[];
let answer: Answer;

const json =
  (body: unknown, headers: Record<string, string> = {}, status = 200): Answer =>
  (_request, response) => {
    const type = status < 400 ? 'application/json' : 'application/problem+json';
    response.writeHead(status, { 'content-type': type, ...headers }).end(JSON.stringify(body));
  };

/** One answer after the other; the last stays. */
const inTurn = (...answers: Answer[]): Answer => {
  let turn = 0;
  return (request, response) => answers[Math.min(turn++, answers.length - 1)]!(request, response);
};

beforeEach(async () => {
  seen = [];
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const line = `${request.method ?? ''} ${request.url ?? ''}`;
      const entry = { line, headers: request.headers, body: Buffer.concat(parts).toString() };
      seen.push(entry);
      answer(entry, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const client = (options: object = {}): EscalonClient => new EscalonClient({ url, token: 't-1', ...options });

const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
};

const job = (state: string): object => ({
  id: 'j-1',
  name: 'primes',
  project: 'demo',
  state,
  priority: 50,
  revision: '7',
});

describe('requests', () => {
  it('E-01 E-02 a submission carries token, key and spec, and says where it was recorded', async () => {
    answer = json(
      { id: 'j-1', evaluationId: 'e-1', revision: '0', warnings: [] },
      { etag: '"0"', 'escalon-position': '4096' },
      201,
    );
    const written = await client().submitJob({ name: 'primes' }, { idempotencyKey: 'k-1' });
    expect(written).toEqual({
      body: { id: 'j-1', evaluationId: 'e-1', revision: '0', warnings: [] },
      revision: '0',
      position: '4096',
    });
    expect(seen[0]).toMatchObject({
      line: 'POST /v1/jobs',
      headers: { authorization: 'Bearer t-1', 'idempotency-key': 'k-1', 'content-type': 'application/json' },
      body: '{"name":"primes"}',
    });
  });

  it('a read follows the newest of its own writes, exactly', async () => {
    const positions = ['9007199254740993', '4096'];
    const api = client();
    answer = (request, response) =>
      json(job('queued'), { 'escalon-position': positions[seen.length - 1] ?? '0' })(request, response);
    await api.cancelJob('j-1', 'wrong input');
    await api.pauseJob('j-1', 'hold');
    await api.getJob('j-1');
    expect(seen[2]?.headers['escalon-min-position']).toBe('9007199254740993');
    expect(seen[0]?.headers['escalon-min-position']).toBeUndefined();
  });

  it.each([
    ['GET /v1/jobs/a%2Fb/timeline', (api: EscalonClient) => api.timeline('a/b')],
    ['GET /v1/jobs/j/decisions', (api: EscalonClient) => api.decisions('j')],
    ['GET /v1/jobs/j/decisions/2?node=coral', (api: EscalonClient) => api.decision('j', 2, 'coral')],
    ['GET /v1/jobs/j/decisions/2', (api: EscalonClient) => api.decision('j', 2)],
    ['GET /v1/jobs/j/executions', (api: EscalonClient) => api.executions('j')],
    ['GET /v1/jobs/j/results', (api: EscalonClient) => api.results('j')],
    ['GET /v1/jobs/j/events', (api: EscalonClient) => api.jobEvents('j')],
    ['POST /v1/jobs/plan', (api: EscalonClient) => api.planJob({})],
    ['POST /v1/jobs/batch', (api: EscalonClient) => api.submitJobs([{}])],
    ['POST /v1/jobs/j/resume', (api: EscalonClient) => api.resumeJob('j')],
    ['POST /v1/jobs/j/rerun', (api: EscalonClient) => api.rerunJob('j')],
    ['GET /v1/queue', (api: EscalonClient) => all(api.queue())],
    ['GET /v1/nodes', (api: EscalonClient) => all(api.nodes())],
    ['GET /v1/nodes/n', (api: EscalonClient) => api.node('n')],
    ['POST /v1/nodes/n/cordon', (api: EscalonClient) => api.cordonNode('n', 'fan')],
    ['POST /v1/nodes/n/uncordon', (api: EscalonClient) => api.uncordonNode('n')],
    ['POST /v1/nodes/n/drain', (api: EscalonClient) => api.drainNode('n', 'moves')],
    ['PUT /v1/nodes/n/policy', (api: EscalonClient) => api.setPolicy('n', {})],
    ['GET /v1/projects', (api: EscalonClient) => all(api.projects())],
    ['PUT /v1/projects/p', (api: EscalonClient) => api.putProject('p', {})],
    ['GET /v1/projections', (api: EscalonClient) => api.projections()],
    ['POST /v1/projections/job-list/rebuild', (api: EscalonClient) => api.rebuildProjection('job-list')],
  ])('%s', async (line, call) => {
    answer = json({ items: [] });
    await call(client());
    expect(seen.map((request) => request.line)).toEqual([line]);
  });

  it('E-06 a list asks for the next page only when it is wanted', async () => {
    answer = inTurn(
      json({ items: [job('queued'), job('running')], next: 'c/1' }),
      json({ items: [job('failed')], next: null }),
    );
    const jobs = client().listJobs({ state: 'queued' });
    await jobs.next();
    await jobs.next();
    expect(seen).toHaveLength(1);
    expect((await jobs.next()).value).toMatchObject({ state: 'failed' });
    expect((await jobs.next()).done).toBe(true);
    expect(seen.map(({ line }) => line)).toEqual([
      'GET /v1/jobs?state=queued',
      'GET /v1/jobs?state=queued&cursor=c%2F1',
    ]);
  });

  it('If-Match is a strong tag, and a changed revision comes back as a problem', async () => {
    answer = json(toProblem('REVISION_MISMATCH', 'the job is at revision 8'), {}, 412);
    const refused = client().changePriority('j-1', 80, '7');
    await expect(refused).rejects.toMatchObject({
      status: 412,
      code: 'REVISION_MISMATCH',
      message: 'the job is at revision 8',
    });
    expect(seen[0]).toMatchObject({
      line: 'PATCH /v1/jobs/j-1',
      headers: { 'if-match': '"7"' },
      body: '{"priority":80}',
    });
  });

  it('E-01 a problem carries its mistakes', async () => {
    const errors = [{ pointer: '/count', code: 'OUT_OF_RANGE', message: 'must be 1 to 10000, not 0' }];
    answer = json(toProblem('VALIDATION_FAILED', 'one mistake', { errors }), {}, 422);
    const error: unknown = await client()
      .submitJob({ count: 0 })
      .catch((problem: unknown) => problem);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', errors, retryable: false });
  });

  it('an answer that is no problem document still says what came', async () => {
    answer = (_request, response) => response.writeHead(502).end('<h1>Bad gateway</h1>');
    await expect(client().getJob('j')).rejects.toMatchObject({
      status: 502,
      code: 'UNKNOWN',
      retryable: true,
      message: '<h1>Bad gateway</h1>',
    });
  });

  it('a server that is not there is told apart from one that refuses', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const nobody = client({ url: `http://127.0.0.1:${port}` }).getJob('j');
    await expect(nobody).rejects.toBeInstanceOf(ServerUnreachable);
    await expect(nobody).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe('artifacts', () => {
  it('E-04 bytes go up from memory, file or stream and come down as they were', async () => {
    const stored = new Uint8Array([0, 255, 10]);
    answer = (_request, response) => response.end(Buffer.from(stored));
    await client().uploadArtifact('ab', new TextEncoder().encode('bytes'));
    await client().uploadArtifact('ab', new Blob(['blob']));
    await client().uploadArtifact('ab', new Blob(['stream']).stream(), 6);
    expect(seen.map(({ line, body }) => [line, body])).toEqual([
      ['PUT /v1/artifacts/ab', 'bytes'],
      ['PUT /v1/artifacts/ab', 'blob'],
      ['PUT /v1/artifacts/ab', 'stream'],
    ]);
    expect(seen[2]?.headers['content-length']).toBe('6');
    const parts = await all(await client().downloadArtifact('ab'));
    expect(Buffer.concat(parts)).toEqual(Buffer.from(stored));
  });
});

describe('logs', () => {
  it('E-05 a log comes line by line', async () => {
    answer = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('one\ntwo\r\nthree');
    const lines = await all(client().logs('j', { execution: 'j.1', tail: 3 }));
    expect(lines).toEqual([{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    expect(seen[0]?.line).toBe('GET /v1/jobs/j/logs?execution=j.1&tail=3');
  });

  it('E-05 followed, its pieces become the lines of each stream, and it ends when the job does', async () => {
    const piece = (stream: string, offset: number, text: string): string =>
      `event: log\ndata: ${JSON.stringify({ executionId: 'j.1', stream, offset, text })}\n\n`;
    answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        `: logs\n\n${piece('stdout', 0, 'one\ntw')}${piece('stderr', 0, 'oh')}${piece('stdout', 6, 'o\r\n\nlast')}`,
      );
      response.write('data: foreign\n\nevent: end\ndata: {"state":"completed"}\n\ndata: never');
    };
    expect(await all(client().logs('j', { follow: true }))).toEqual([
      { text: 'one', stream: 'stdout', executionId: 'j.1' },
      { text: 'two', stream: 'stdout', executionId: 'j.1' },
      { text: '', stream: 'stdout', executionId: 'j.1' },
      { text: 'foreign' },
      { text: 'last', stream: 'stdout', executionId: 'j.1' },
      { text: 'oh', stream: 'stderr', executionId: 'j.1' },
    ]);
  });
});

describe('a log that is followed', () => {
  const piece = (stream: string, offset: number, text: string): string => {
    const next = offset + Buffer.byteLength(text);
    return `event: log\ndata: ${JSON.stringify({ executionId: 'j.1', stream, offset, next, text })}\n\n`;
  };
  const broken =
    (text: string): Answer =>
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(text, () => response.destroy());
    };
  const follow = async (options: object): Promise<string[]> => {
    const time = new FakeTime();
    const reading = all(client({ timers: time }).logs('j', { follow: true, ...options }));
    const ended = reading.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([ended, tick(time)])));
    return (await reading).map(({ stream, text }) => `${stream ?? ''} ${text}`);
  };

  it('E-05 goes on where it broke, over a server that is away, and tells each line once', async () => {
    const end = 'event: end\ndata: {"state":"completed"}\n\n';
    answer = inTurn(
      broken(piece('stdout', 0, 'one\nté') + piece('stderr', 0, 'oh\n')),
      json(toProblem('NOT_READY', 'starting'), {}, 503),
      broken(piece('stdout', 0, 'one\ntéo\n')),
      broken(
        `${piece('stdout', 0, 'one\ntéo\nend\n')}${piece('stderr', 0, 'oh\n')}${piece('stderr', 3, 'no\n')}${end}`,
      ),
    );
    expect(await follow({})).toEqual(['stdout one', 'stderr oh', 'stdout téo', 'stdout end', 'stderr no']);
  });

  it('E-05 begins again where its last lines began, not with as many of the newest', async () => {
    const end = 'event: end\ndata: {"state":"completed"}\n\n';
    answer = inTurn(
      broken(`${piece('stdout', 4, '')}${piece('stdout', 4, 'two\n')}`),
      broken(`${piece('stdout', 0, 'one\ntwo\nthree\nfour\n')}${end}`),
    );
    expect(await follow({ tail: 1 })).toEqual(['stdout two', 'stdout three', 'stdout four']);
    expect(seen.map(({ line }) => line)).toEqual([
      'GET /v1/jobs/j/logs?tail=1&follow=true',
      'GET /v1/jobs/j/logs?follow=true',
    ]);
  });

  it('E-05 goes on by the id of the last event', async () => {
    const end = 'event: end\ndata: {"state":"completed"}\n\n';
    answer = inTurn(
      broken(`id: e1:4:\n${piece('stdout', 0, 'one\n')}id: e1:6:\n${piece('stdout', 4, 'tw')}`),
      broken(`id: e1:8:\n${piece('stdout', 6, 'o\n')}${end}`),
    );
    expect(await follow({})).toEqual(['stdout one', 'stdout two']);
    expect(seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'e1:6:']);
  });

  it('E-05 a line tells what is left out, once, and of what was seen before the rest alone', async () => {
    const gap = (stream: string, offset: number, next: number): string => {
      const data = { executionId: 'j.1', stream, offset, next, text: '', leftOut: next - offset };
      return `event: log\ndata: ${JSON.stringify(data)}\n\n`;
    };
    const end = 'event: end\ndata: {"state":"completed"}\n\n';
    answer = inTurn(
      broken(`${piece('stdout', 0, 'one\ntw')}${gap('stdout', 6, 2054)}${piece('stdout', 2054, 'l\n')}`),
      broken(`${piece('stdout', 0, 'one\n')}${gap('stdout', 4, 2054)}${gap('stdout', 2054, 2156)}${end}`),
    );
    expect(await follow({})).toEqual([
      'stdout one',
      'stdout tw',
      'stdout … 2 KiB left out here …',
      'stdout l',
      'stdout … 100 B left out here …',
    ]);
  });

  it('E-05 not followed, each line comes with its origin where that is asked for; a break is told', async () => {
    const end = 'event: end\ndata: {"state":"running"}\n\n';
    const data = { executionId: 'j.1', stream: 'stdout', offset: 4, next: 9, text: '', leftOut: 5 };
    answer = inTurn(
      broken(`${piece('stdout', 0, 'one\n')}event: log\ndata: ${JSON.stringify(data)}\n\n${end}`),
      broken(piece('stdout', 0, 'one\n')),
    );
    const origin = { executionId: 'j.1', stream: 'stdout' };
    expect(await all(client().logs('j', { origins: true }))).toEqual([
      { text: 'one', ...origin },
      { text: '… 5 B left out here …', ...origin, leftOut: 5 },
    ]);
    expect(seen[0]?.headers['accept']).toBe('text/event-stream');
    await expect(all(client().logs('j', { origins: true }))).rejects.toThrow('broke off');
  });

  it('E-05 a refusal ends it', async () => {
    answer = inTurn(broken(piece('stdout', 0, 'one\n')), json(toProblem('JOB_NOT_FOUND', 'gone'), {}, 404));
    await expect(follow({})).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
  });
});

describe('events', () => {
  const event = (position: number): object => ({ type: 'JobResumed', position: String(position), data: {} });
  const message = (position: number): string =>
    `id: ${position}\nevent: JobResumed\ndata: ${JSON.stringify(event(position))}\n\n`;
  const stream =
    (text: string, end: (response: ServerResponse) => void): Answer =>
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(text, () => end(response));
    };

  it('are read page by page from the last position seen', async () => {
    answer = inTurn(json({ items: [event(10), event(30)] }), json({ items: [event(70)] }), json({ items: [] }));
    const positions = (await all(client().events({ from: '5' }))).map(({ position }) => position);
    expect(positions).toEqual(['10', '30', '70']);
    expect(seen.map(({ line }) => line)).toEqual(
      ['/v1/events?from=5', '/v1/events?from=30', '/v1/events?from=70'].map((path) => `GET ${path}`),
    );
  });

  it('E-08 are followed over an end and a break, none missed and none twice', async () => {
    const time = new FakeTime();
    const stop = new AbortController();
    answer = inTurn(
      stream(`: hello\n\n${message(10)}${message(30)}`, (response) => response.end()),
      stream(`${message(70)}data: {"cut`, (response) => response.destroy()),
      stream(message(90), () => undefined),
    );
    const positions: string[] = [];
    const reading = (async () => {
      for await (const { position } of client({ timers: time }).events({ follow: true, signal: stop.signal })) {
        positions.push(position);
        if (position === '90') stop.abort();
      }
    })();
    const ended = reading.then(() => true);
    while (!(await Promise.race([ended, tick(time)])));
    expect(positions).toEqual(['10', '30', '70', '90']);
    expect(seen.map(({ line }) => line)).toEqual([
      'GET /v1/events?follow=true',
      'GET /v1/events?from=30&follow=true',
      'GET /v1/events?from=70&follow=true',
    ]);
  });

  it('a refusal ends the following', async () => {
    answer = json(toProblem('FORBIDDEN', 'only for auditors'), {}, 403);
    await expect(all(client().events({ follow: true }))).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

/** Lets the sockets work, then moves time to the next timer. */
const tick = async (time: FakeTime): Promise<false> => {
  await new Promise((resolve) => setImmediate(resolve));
  const due = time.nextDue();
  if (due !== undefined) time.advance(due - time.now());
  return false;
};

describe('waiting for the end of a job', () => {
  const wait = async (options: object): Promise<JobView> => {
    const time = new FakeTime();
    const waiting = client({ timers: time }).waitForJob('j-1', options);
    const settled = waiting.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([settled, tick(time)])));
    return waiting;
  };

  it.each(['completed', 'failed', 'cancelled'])('ends on %s', async (state) => {
    answer = inTurn(json(job('queued')), json(job('running')), json(job(state)));
    expect(await wait({})).toMatchObject({ state });
    expect(seen).toHaveLength(3);
  });

  it('waits for a server that is down for a moment', async () => {
    answer = inTurn(
      json(toProblem('NOT_READY', 'starting'), {}, 503),
      (_request, response) => response.destroy(),
      json(job('completed')),
    );
    expect(await wait({})).toMatchObject({ state: 'completed' });
  });

  it('ends with a refusal that will not pass', async () => {
    answer = json(toProblem('JOB_NOT_FOUND', 'there is no job j-1'), {}, 404);
    await expect(wait({})).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    expect(seen).toHaveLength(1);
  });

  it('gives up when its time is over, with the job as it is then', async () => {
    answer = json(job('running'));
    const time = new FakeTime();
    const waiting = client({ timers: time }).waitForJob('j-1', { within: 10_000 });
    const settled = waiting.then(() => true);
    // A look takes a while, so time moves on only while the client pauses.
    while (!(await Promise.race([settled, nextLook(time)])));
    expect(await waiting).toMatchObject({ state: 'running' });
    expect(time.now()).toBe(10_000);
    expect(seen.length).toBeGreaterThan(10);
  });

  it('ends with the reason of its signal', async () => {
    answer = json(job('running'));
    const stop = AbortSignal.abort(new Error('the user left'));
    await expect(wait({ signal: stop })).rejects.toThrow('the user left');
  });

  /** Two timers are set while the client pauses, one (the deadline) while it looks. */
  const nextLook = async (time: FakeTime): Promise<false> => {
    await new Promise((resolve) => setImmediate(resolve));
    const due = time.nextDue();
    if (due !== undefined && due - time.now() <= 500) time.advance(due - time.now());
    return false;
  };
});
