import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issueToken } from '#platform/auth';
import {
  consumption,
  eventsOf,
  eventually,
  inventory,
  ProtocolNode,
  SECRET,
  TestSystem,
  wholeLog,
} from '../system/index.js';
import type { ApiClient } from '../system/index.js';

const good = { name: 'one', project: 'demo', task: { command: ['true'] }, constraints: ['nowhere = yes'] };
const BYTES = { 'content-type': 'application/octet-stream' };

/** What hostile and clumsy callers send: each gets a problem document, and nothing breaks. */
describe('the interface, held against rubbish', () => {
  let system: TestSystem;
  let ada: ApiClient;
  let operator: ApiClient;

  beforeAll(async () => {
    // Its nodes speak when a test has something to say, and stay online meanwhile.
    system = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '600' } });
    ada = system.researcher();
    operator = system.operator();
  });

  afterAll(async () => {
    await system.stop();
  });

  const code = async (answer: Promise<{ status: number; body: { code?: string } }>): Promise<string> => {
    const { status, body } = await answer;
    return `${String(status)} ${body.code ?? ''}`.trim();
  };

  const submitted = async (change: object = {}): Promise<string> =>
    (await ada.post<{ id: string }>('/jobs', { ...good, ...change })).id;

  const enrolled = async (name: string): Promise<ProtocolNode> => {
    await new ProtocolNode(name, system.as({ role: 'node', account: 'enrol' })).enrol({ labels: { at: name } });
    return new ProtocolNode(name, system.node(name));
  };

  describe('bodies', () => {
    const post = (body: string, type = 'application/json'): Promise<string> =>
      code(ada.request('POST', '/jobs', body, { 'content-type': type }));

    it.each([
      ['{"name":', '400 MALFORMED_JSON'],
      ['{"name":"x","__proto__":{"a":1}}', '400 MALFORMED_JSON'],
      ['', '422 VALIDATION_FAILED'],
      ['null', '422 VALIDATION_FAILED'],
      ['[]', '422 VALIDATION_FAILED'],
      [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, '422 VALIDATION_FAILED'],
      ['x'.repeat(5 * 1024 * 1024), '413 PAYLOAD_TOO_LARGE'],
    ])('%#: is refused with the problem that it is', async (body, expected) => {
      expect(await post(body)).toBe(expected);
    });

    it.each(['text/plain', 'application/yaml', 'application/x-www-form-urlencoded', 'application/octet-stream', 'x'])(
      'as %s is no job',
      async (type) => {
        expect(await post(JSON.stringify(good), type)).toBe('415 UNSUPPORTED_MEDIA_TYPE');
      },
    );

    it('that are empty are none, whatever their type says', async () => {
      const id = await submitted();
      const empty = { 'content-type': 'application/json' };
      expect((await ada.request('POST', `/jobs/${id}/pause`, '', empty)).body).toMatchObject({ state: 'paused' });
    });
  });

  describe('addresses', () => {
    it.each([
      ['GET', '/nope', '404 NOT_FOUND'],
      ['GET', '/jobs/', '404 NOT_FOUND'],
      ['GET', '/jobs/%zz', '404 NOT_FOUND'],
      ['GET', '/jobs/..%2f..', '404 JOB_NOT_FOUND'],
      ['GET', `/jobs/${'x'.repeat(5000)}`, '404 NOT_FOUND'],
      ['GET', '/jobs/%0d%0aX-Evil:%201', '404 NOT_FOUND'],
      ['GET', '/nodes/%00', '404 NOT_FOUND'],
      ['GET', '/nodes/constructor', '404 NODE_UNKNOWN'],
      ['GET', '/projects/nope', '404 PROJECT_NOT_FOUND'],
      ['PUT', '/projects/a%2fb', '422 VALIDATION_FAILED'],
      ['DELETE', '/jobs', '405 METHOD_NOT_ALLOWED'],
    ])('%s %s', async (method, path, expected) => {
      const body = method === 'PUT' ? { institution: 'here', members: [] } : undefined;
      const answer = await operator.request(method, path, body);
      expect(await code(Promise.resolve(answer))).toBe(expected);
      expect(answer.headers.get('content-type')).toContain('application/problem+json');
    });

    it('name the methods they take', async () => {
      expect((await ada.request('DELETE', '/jobs')).headers.get('allow')).toBe('GET, HEAD, POST');
    });

    it('of parts of a job that are not there', async () => {
      const id = await submitted();
      expect(await code(ada.request('GET', `/jobs/${id}/decisions/99`))).toBe('404 DECISION_NOT_FOUND');
      for (const number of ['abc', '0', '-1', '1.5', '99999999999']) {
        const { status, body } = await ada.request('GET', `/jobs/${id}/decisions/${number}`);
        expect([status, body.errors[0]]).toEqual([422, expect.objectContaining({ pointer: '/number' })]);
        expect(body.detail).toContain(`"${number}"`);
      }
      for (const query of ['node=a&node=b', 'node=', 'nod=a', 'node=%00']) {
        expect([query, await code(ada.request('GET', `/jobs/${id}/decisions/1?${query}`))]).toEqual([
          query,
          '422 VALIDATION_FAILED',
        ]);
      }
      for (const name of ['x', '__proto__', 'constructor']) {
        expect(await code(ada.request('GET', `/jobs/${id}/logs?execution=${name}`))).toBe('404 EXECUTION_UNKNOWN');
      }
      expect(await code(ada.request('GET', `/jobs/${id}/logs?tail=-1`))).toBe('422 VALIDATION_FAILED');
    });

    it('show one project, and the page of problems to everybody', async () => {
      expect(await ada.get('/projects/demo')).toMatchObject({ id: 'demo', institution: 'here' });
      const page = await fetch(`${system.url}/docs/problems`);
      expect(page.headers.get('content-type')).toContain('text/html');
      expect(await page.text()).toContain('<h2 id="not_found">NOT_FOUND</h2>');
    });
  });

  describe('lists', () => {
    it.each([
      '/jobs?since=abc',
      '/jobs?since=0000',
      '/jobs?since=2026-13-45',
      '/jobs?limit=abc',
      '/jobs?limit=0',
      '/jobs?limit=1&limit=2',
      '/jobs?state=nope',
      '/jobs?colour=blue',
      '/jobs?name=%00',
      '/queue?project=%00',
      '/nodes?limit=-1',
      '/projects?foo=1',
    ])('%s has a mistake', async (path) => {
      expect(await code(ada.request('GET', path))).toBe('422 VALIDATION_FAILED');
    });

    it.each(['jobs', 'queue', 'nodes', 'projects'])('%s take only their own cursors', async (name) => {
      expect(await code(ada.request('GET', `/${name}?cursor=rubbish`))).toBe('400 CURSOR_INVALID');
    });

    it('a cursor that was forged finds nothing, and breaks nothing', async () => {
      const [digest] = JSON.parse(
        Buffer.from(
          await eventually(
            async () => String((await ada.get('/jobs?limit=1')).next ?? ''),
            (next) => next !== '',
          ),
          'base64url',
        ).toString(),
      ) as string[];
      const forged = Buffer.from(JSON.stringify([digest, '0000', 'x'])).toString('base64url');
      expect(await code(ada.request('GET', `/jobs?cursor=${forged}`))).toMatch(/^4/);
    });

    it('since a day or a moment', async () => {
      expect((await ada.get('/jobs?since=2000-01-01')).items.length).toBeGreaterThan(0);
      expect((await ada.get('/jobs?since=2100-01-01T00:00:00Z')).items).toEqual([]);
    });
  });

  describe('who calls', () => {
    it('is nobody with an expired, forged or unsigned token', async () => {
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
      const tokens = [
        await issueToken(SECRET, { role: 'operator', account: 'op' }, Date.now() - 1000),
        await issueToken('another secret of at least 32 characters', { role: 'operator', account: 'op' }),
        `${part({ alg: 'none' })}.${part({ iss: 'escalon', sub: 'op', role: 'operator' })}.`,
      ];
      for (const token of tokens) {
        const answer = await fetch(`${system.url}/v1/events`, { headers: { authorization: `Bearer ${token}` } });
        expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      }
    });

    it('a node sees its own part only', async () => {
      const node = system.node('n-own');
      expect(await code(node.request('GET', '/jobs'))).toBe('403 FORBIDDEN');
      expect(await code(node.request('GET', '/queue'))).toBe('403 FORBIDDEN');
      expect(await code(node.request('GET', '/nodes/other/assignments'))).toBe('403 WRONG_NODE');
      expect(await code(node.request('PUT', '/nodes/other/policy', {}))).toBe('403 FORBIDDEN');
    });

    it('takes no files of a job that the account may not see; the node that needs them gets them', async () => {
      await operator.put('/projects/hidden', { institution: 'here', members: ['eve'] });
      const eve = system.researcher('eve');
      const { id: hidden } = await eve.post('/jobs', { ...good, project: 'hidden' });
      for (const part of ['', '/events', '/timeline', '/decisions', '/logs', '/results', '/logs?follow=true']) {
        expect(await code(ada.request('GET', `/jobs/${hidden}${part}`))).toBe('404 JOB_NOT_FOUND');
      }
      const stealing = { ...good, inputs: [{ source: `job:${hidden}/secret.csv`, path: 'x' }] };
      const answer = await ada.request('POST', '/jobs', stealing);
      expect(answer).toMatchObject({ status: 422, body: { code: 'DEPENDENCY_UNKNOWN' } });
      expect(answer.body.errors).toMatchObject([{ pointer: '/inputs/0/source' }]);

      const [writer, node] = [await enrolled('writes-inputs'), await enrolled('reads-inputs')];
      const own = await submitted({ constraints: ['at = writes-inputs'] });
      expect(await code(system.node('reads-inputs').request('GET', `/jobs/${own}/results`))).toBe('404 JOB_NOT_FOUND');
      const inputs = [{ source: `job:${own}/out.csv`, path: 'x' }];
      const reader = await submitted({ constraints: ['at = reads-inputs'], inputs });
      const first = await writer.assigned(own);
      await writer.report('confirm', first);
      const out = { path: 'out.csv', sha256: 'a'.repeat(64), size: 7, mediaType: 'text/csv' };
      await writer.succeed(first, { artifacts: [out] });
      await node.assigned(reader);
      expect((await system.node('reads-inputs').request('GET', `/jobs/${own}/results`)).status).toBe(200);
    });
  });

  it('A-99 shows on nodes and of projects what the reader may see', async () => {
    await operator.put('/projects/secret', { institution: 'here', members: ['eve'] });
    const eve = system.researcher('eve');
    const node = await enrolled('shared');
    const there = { ...good, constraints: ['at = shared'] };
    const { id: theirs } = await eve.post('/jobs', { ...there, project: 'secret' });
    const first = await node.assigned(theirs);
    await node.report('confirm', first);
    const { executionId } = first;
    const { id: ours } = await ada.post('/jobs', there);
    const own = await node.assigned(ours);
    await node.report('confirm', own);
    const executions = [executionId, own.executionId];
    await system.node('shared').post('/nodes/shared/heartbeat', { executions });
    const graph = async (api: ApiClient): Promise<object> => {
      const { body } = await api.request('POST', '/graphql', { query: '{ node(id: "shared") nodes }' });
      return body.data;
    };
    await eventually(
      () => operator.get('/nodes/shared'),
      ({ claims, reported }) => claims.length === 2 && reported?.executions.length === 2,
    );
    expect(JSON.stringify([await operator.get('/nodes'), await graph(operator)]).split(executionId)).toHaveLength(5);
    const shown = await ada.get('/nodes/shared');
    expect(shown).toMatchObject({ executions: 2, reported: { executions: [own.executionId] } });
    expect(shown.claims.map(({ jobId }: { jobId: string }) => jobId)).toEqual([ours]);
    expect(JSON.stringify([shown, await ada.get('/nodes'), await graph(ada)])).not.toMatch(
      new RegExp(`${theirs}|secret`),
    );
    expect((await system.node('shared').get('/nodes/shared')).claims).toHaveLength(2);

    const secret = { id: 'secret', institution: 'here' };
    const [all, one] = await Promise.all([ada.get('/projects'), ada.get('/projects/secret')]);
    expect(one).toMatchObject({ ...secret, members: null, quota: null });
    expect(all.items).toEqual(expect.arrayContaining([one, expect.objectContaining({ id: 'demo', members: ['*'] })]));
    expect(await eve.get('/projects/secret')).toMatchObject({ ...secret, members: ['eve'], quota: {} });
    expect(await operator.get('/projects/secret')).toMatchObject({ members: ['eve'] });
  });

  describe('GraphQL', () => {
    const ask = async (query: unknown): Promise<{ code: string; message: string }> => {
      const { body } = await ada.request('POST', '/graphql', { query });
      const [error] = body.errors;
      return { code: error.extensions.code, message: error.message };
    };

    it('shows its schema to nobody without a token, however the path is written', async () => {
      const body = JSON.stringify({ query: '{__schema{types{name}}}' });
      for (const path of ['/graphql', '/%67raphql', '/graphql?access_token=x']) {
        const headers = { 'content-type': 'application/json' };
        const { status } = await fetch(system.url + path, { method: 'POST', headers, body });
        expect([path, status]).toEqual([path, 401]);
      }
    });

    it('says what is wrong with an operation', async () => {
      expect(await ask('{ nope }')).toMatchObject({ code: 'GRAPHQL_INVALID', message: /Cannot query field "nope"/ });
      const many = Array.from({ length: 2000 }, (_, index) => `a${String(index)}: jobs { items }`).join(' ');
      expect(await ask(`{ ${many} }`)).toMatchObject({ code: 'GRAPHQL_INVALID' });
      expect(await ask('{ jobs(limit: -1) { items } }')).toMatchObject({ code: 'VALIDATION_FAILED' });
      expect(await ask(`mutation { cancelJob(id: "x", reason: "${'y'.repeat(2000)}") { id } }`)).toMatchObject({
        code: 'VALIDATION_FAILED',
      });
    });

    it.each([5, true, null, '5', 'true', 'null', '"x"', '[]', '{}', '{"kind":"Document","definitions":5}', {}, []])(
      'takes %j for no operation',
      async (query) => {
        expect(await ask(query)).toMatchObject({ code: 'GRAPHQL_INVALID' });
      },
    );

    it('says that an operation is nested too deeply', async () => {
      const nested = (levels: number): string => `${'{a'.repeat(levels)}${'}'.repeat(levels)}`;
      const deep = { code: 'GRAPHQL_INVALID', message: expect.stringContaining('nested too deeply') };
      expect(await ask(nested(5000))).toMatchObject(deep);
      expect(await ask(nested(50_000))).toMatchObject(deep);
      expect(await ask(`{ job(id: ${'['.repeat(20_000)}${']'.repeat(20_000)}) }`)).toMatchObject(deep);
      for (const levels of [9, 100, 1000]) expect(await ask(nested(levels))).toMatchObject({ code: 'GRAPHQL_INVALID' });
    });

    it('A-20 A-98 gives the queue page by page', async () => {
      await submitted();
      await submitted();
      const page = async (cursor: string | null) => {
        const query = 'query ($cursor: String) { queue(limit: 1, project: "demo", cursor: $cursor) { items next } }';
        const { body } = await ada.request('POST', '/graphql', { query, variables: { cursor } });
        return body.data.queue;
      };
      const first = await eventually(
        () => page(null),
        ({ next }) => next !== null,
      );
      const second = await page(first.next);
      expect(second.items).toHaveLength(1);
      expect(second.items[0].jobId).not.toBe(first.items[0].jobId);
    });

    it('lets a browser subscribe with its token in the address, and tells it nothing of other projects', async () => {
      const { createClient } = await import('graphql-ws');
      const { default: WebSocket } = await import('ws');
      await operator.put('/projects/hidden', { institution: 'here', members: ['eve'] });
      const { id: hidden } = await system.researcher('eve').post('/jobs', { ...good, project: 'hidden' });
      const url = `${system.url.replace('http', 'ws')}/graphql?access_token=${await ada.token}`;
      const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0 });
      const iterate = (id: string) =>
        client.iterate<{ jobChanged: { jobId: string; type: string } }>({
          query: `subscription { jobChanged(id: "${id}") { jobId type } }`,
        });
      const refused: unknown = await iterate(hidden)
        .next()
        .catch((error: unknown) => error);
      expect(JSON.stringify(refused)).toContain('there is no job');
      const id = await submitted();
      const own = iterate(id);
      const heard: { jobId: string; type: string }[] = [];
      const hearing = (async () => {
        for await (const { data } of own) if (data) heard.push(data.jobChanged);
      })();
      // The subscription has no sign of having begun, so the job is changed until it is heard; what came before may be heard too.
      await eventually(
        async () => {
          await ada.post(`/jobs/${id}/pause`);
          await ada.post(`/jobs/${id}/resume`);
          return heard;
        },
        (all) => all.some(({ type }) => /^Job(?:Paused|Resumed)$/.test(type)),
      );
      expect([...new Set(heard.map(({ jobId }) => jobId))]).toEqual([id]);
      await own.return?.();
      await hearing;
      await client.dispose();
    });
  });

  describe('idempotency keys', () => {
    const key = (value: string): Record<string, string> => ({ 'idempotency-key': value });

    it('on a POST that is no submission: replayed, refused for another request, malformed', async () => {
      const [id, other] = [await submitted(), await submitted()];
      const first = await ada.request('POST', `/jobs/${id}/pause`, { reason: 'a' }, key('k-1'));
      await ada.post(`/jobs/${id}/resume`);
      const again = await ada.request('POST', `/jobs/${id}/pause`, { reason: 'a' }, key('k-1'));
      expect(again).toMatchObject({ status: 200, body: first.body });
      expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      const types = (await eventsOf(ada, id)).map(({ type }) => type).filter((type) => type === 'JobPaused');
      expect(types).toHaveLength(1);
      const changed = ada.request('POST', `/jobs/${other}/pause`, { reason: 'a' }, key('k-1'));
      expect(await code(changed)).toBe('422 IDEMPOTENCY_KEY_REUSED');
      const malformed = ada.request('POST', `/jobs/${id}/pause`, {}, key('two words'));
      expect(await code(malformed)).toBe('400 IDEMPOTENCY_KEY_INVALID');
    });

    it('at once: one runs, the others are told to wait or get its answer', async () => {
      const id = await submitted();
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => ada.request('POST', `/jobs/${id}/cancel`, { reason: 'r' }, key('k-2'))),
      );
      const codes = new Set(answers.map(({ status, body }) => `${String(status)} ${body.code ?? body.state}`));
      expect([...codes].filter((one) => one !== '409 IDEMPOTENCY_IN_PROGRESS')).toEqual(['200 cancelled']);
    });

    it('a refusal leaves the key free; accounts do not share keys', async () => {
      const id = await submitted();
      const refused = ada.request('POST', `/jobs/${id}/cancel`, { reason: 7 }, key('k-3'));
      expect(await code(refused)).toBe('422 VALIDATION_FAILED');
      expect((await ada.request('POST', `/jobs/${id}/cancel`, { reason: 'r' }, key('k-3'))).status).toBe(200);
      const node = await enrolled('cordoned');
      expect((await operator.request('POST', `/nodes/${node.name}/cordon`, {}, key('k-3'))).status).toBe(200);
    });
  });

  describe('batches and plans', () => {
    it('one result for each job, and the same jobs under the same key', async () => {
      const items = [good, { ...good, priority: 200 }, { ...good, project: 'nowhere' }, 5];
      const headers = { 'idempotency-key': 'batch-1' };
      const first = await ada.request('POST', '/jobs/batch', { items }, headers);
      expect(first.body.items).toMatchObject([
        { status: 201, revision: '0' },
        { status: 422, problem: { code: 'VALIDATION_FAILED' } },
        { status: 422, problem: { code: 'PROJECT_UNKNOWN' } },
        { status: 422, problem: { code: 'VALIDATION_FAILED' } },
      ]);
      const again = await ada.request('POST', '/jobs/batch', { items }, headers);
      expect(again.body.items[0].id).toBe(first.body.items[0].id);
      for (const body of [{}, { items: [] }, { items: 5 }, { items: [good], x: 1 }]) {
        expect(await code(ada.request('POST', '/jobs/batch', body))).toBe('422 VALIDATION_FAILED');
      }
    });

    it('a plan is the decision, and writes nothing', async () => {
      const name = 'only-planned';
      const plan = await ada.post('/jobs/plan', { ...good, name });
      expect(plan).toMatchObject({ outcome: expect.stringMatching(/deferred|rejected/), filtered: expect.any(Array) });
      expect(plan.explanation).toBeDefined();
      // The jobs and nodes of other tests go on writing meanwhile.
      const log = await wholeLog(operator);
      const { id } = await ada.post('/jobs', { ...good, name });
      expect(JSON.stringify(log)).not.toContain(name);
      const first = log.filter(({ stream, revision }) => stream.startsWith('job-') && revision === '0');
      expect([...new Set(first.map(({ type }) => type))]).toEqual(['JobSubmitted']);
      const written = (await wholeLog(operator)).filter((event) => JSON.stringify(event).includes(name));
      expect([...new Set(written.map(({ stream }) => stream))]).toEqual([`job-${String(id)}`]);
    });
  });

  describe('artifacts', () => {
    const bytes = 'hello world';
    const digest = createHash('sha256').update(bytes).digest('hex');
    const put = (path: string, body: string, headers = BYTES, api = ada): Promise<string> =>
      code(api.request('PUT', `/artifacts/${path}`, body, headers));

    it('keep only what their digest names', async () => {
      expect(await put(digest, 'other')).toBe('422 ARTIFACT_DIGEST_MISMATCH');
      expect(await put(`${digest}?offset=5`, ' world')).toBe('409 UPLOAD_OFFSET_GAP');
      expect(await put(digest.toUpperCase(), bytes)).toBe('422 VALIDATION_FAILED');
      expect(await put(digest, bytes, BYTES, system.as({ role: 'auditor', account: 'vera' }))).toBe('403 FORBIDDEN');
      expect(await put(digest, bytes, { 'content-type': 'application/json' })).toBe('200');
    });

    it('are read in parts', async () => {
      const part = (range: string) => ada.request('GET', `/artifacts/${digest}`, undefined, { range });
      expect(await part('bytes=0-4')).toMatchObject({ status: 206, body: 'hello' });
      expect(await part('bytes=-5')).toMatchObject({ status: 206, body: 'world' });
      const outside = await part('bytes=11-');
      expect(outside).toMatchObject({ status: 416, body: { code: 'RANGE_NOT_SATISFIABLE' } });
      expect(outside.headers.get('content-range')).toBe('bytes */11');
    });
  });

  describe('what nodes say', () => {
    it('E-07 a report that cannot be taken is an answer of its own in a batch; a malformed one stores nothing', async () => {
      const node = await enrolled('batches');
      const api = system.node('batches');
      const running = await node.assigned(await submitted({ constraints: ['at = batches'] }));
      await node.report('start', running);
      const { executionId, fencingToken } = running;
      const report = { executionId, fencingToken };
      const before = await eventsOf(ada, running.jobId);
      const malformed = await api.request('POST', '/nodes/batches/reports', [
        { ...report, type: 'progress', fraction: 0.5 },
        { ...report, type: 'fail', class: 'evil', code: 'X', message: '' },
      ]);
      expect(malformed).toMatchObject({ status: 422, body: { errors: [{ pointer: '/1/class' }] } });
      expect(await eventsOf(ada, running.jobId)).toEqual(before);
      const answers = await api.post('/nodes/batches/reports', [
        { ...report, type: 'decline', reason: 'too late' },
        { ...report, executionId: 'unknown', type: 'confirm' },
        { ...report, type: 'succeed', exitCode: 0, artifacts: [], consumption },
      ]);
      expect(answers).toEqual([
        { executionId, accepted: false, reason: 'EXECUTION_STATE' },
        { executionId: 'unknown', accepted: false, reason: 'UNKNOWN_EXECUTION' },
        { executionId, accepted: true },
      ]);
    });

    it('R-05 an end is recorded whatever its diagnostics hold', async () => {
      const node = await enrolled('prints');
      const running = await node.assigned(await submitted({ constraints: ['at = prints'] }));
      const failure = {
        class: 'application',
        code: 'EXIT',
        message: 'a\u0000b',
        diagnostics: { tail: 'x\u0000\ud800' },
      };
      expect((await node.report('fail', running, failure)).accepted).toBe(true);
      const failed = (await eventsOf(ada, running.jobId)).find(({ type }) => type === 'ExecutionFailed');
      expect(failed?.data).toMatchObject({ message: 'a\ufffdb', diagnostics: { dropped: expect.any(String) } });
    });

    it('E-05 logs: repeated bytes once, a gap with the offset wanted, nothing of strangers', async () => {
      const node = await enrolled('writes');
      const running = await node.assigned(await submitted({ constraints: ['at = writes'] }));
      await node.report('start', running);
      const put = (query: string, body: string | undefined, name = 'writes', headers: Record<string, string> = BYTES) =>
        system.node(name).request('PUT', `/executions/${running.executionId}/logs?${query}`, body, headers);
      expect((await put('stream=stdout&offset=0', 'one\n')).body).toEqual({ nextOffset: 4 });
      expect((await put('stream=stdout&offset=0', 'one\ntwo\n')).body).toEqual({ nextOffset: 8 });
      expect((await put('stream=stdout&offset=99', 'x')).body).toMatchObject({ code: 'LOG_OFFSET_GAP', expected: 8 });
      expect((await put('stream=stdout&offset=8', undefined, 'writes', {})).body).toEqual({ nextOffset: 8 });
      const text = { 'content-type': 'text/plain' };
      expect((await put('stream=stdout&offset=8', '3\n', 'writes', text)).body).toEqual({ nextOffset: 10 });
      for (const query of ['stream=evil&offset=0', 'stream=stdout&offset=-1', 'stream=stdout', 'offset=0']) {
        expect(await code(put(query, 'x'))).toBe('422 VALIDATION_FAILED');
      }
      expect(await code(put('stream=stdout&offset=10', 'x', 'prints'))).toBe('403 WRONG_NODE');
      const { body } = await ada.request('GET', `/jobs/${running.jobId}/logs`);
      expect(body).toBe('one\ntwo\n3\n');
    });

    it('enrolment names every mistake, and gives a name once', async () => {
      const enrol = system.as({ role: 'node', account: 'enrol' });
      const wrong = { name: 'D 3', owner: 5, inventory: { ...inventory(), cpu: -1, memory: '4 bananas' } };
      const { body } = await enrol.request('POST', '/nodes/enroll', wrong);
      const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer).sort();
      expect(pointers).toEqual(['/institution', '/inventory/cpu', '/inventory/memory', '/name', '/owner']);
      const right = { name: 'once', owner: 'own', institution: 'here', inventory: inventory() };
      const all = await Promise.all([1, 2, 3].map(() => code(enrol.request('POST', '/nodes/enroll', right))));
      expect(all.sort()).toEqual(['200', '409 NODE_NAME_TAKEN', '409 NODE_NAME_TAKEN']);
      expect((await system.node('once').request('POST', '/nodes/enroll', right)).body).toMatchObject({
        nodeId: 'once',
      });
    });
  });

  it('R-04 a drain whose deadline is over is refused, and changes nothing', async () => {
    await enrolled('stays');
    const { status, body } = await operator.request('POST', '/nodes/stays/drain', { deadline: '2020-01-01T00:00:00Z' });
    expect([status, body.errors[0].pointer]).toEqual([422, '/deadline']);
    const node = await eventually(
      () => operator.request('GET', '/nodes/stays'),
      (answer) => answer.status === 200,
    );
    expect(node.body).toMatchObject({ draining: null });
    await operator.post('/nodes/stays/drain', { deadline: '2100-01-01T00:00:00Z' });
  });

  describe('the log', () => {
    const follow = async (query: string, headers: Record<string, string> = {}): Promise<string> => {
      const authorization = `Bearer ${await operator.token}`;
      const answer = await fetch(`${system.url}/v1/events?${query}`, { headers: { authorization, ...headers } });
      let text = '';
      for await (const chunk of answer.body!) {
        text += Buffer.from(chunk).toString();
        if (/^id: /m.test(text)) break;
      }
      return text;
    };

    it('goes on right after the position that was seen last', async () => {
      const { items, next } = await operator.get('/events?limit=3');
      expect(next).toBe(items[2].position);
      const [, second, third] = items;
      const rest = await operator.get(`/events?from=${second.position}&limit=1`);
      expect(rest.items).toEqual([third]);
      const id = /^id: (\d+)$/m;
      expect(id.exec(await follow(`follow=true&from=${second.position}`))?.[1]).toBe(third.position);
      const resumed = await follow('follow=true&from=-1', { 'last-event-id': second.position });
      expect(id.exec(resumed)?.[1]).toBe(third.position);
    });

    it.each(['abc', '-5', '1.5', '9223372036854775808', '99999999999999999999'])('has no position %s', async (from) => {
      for (const query of [`from=${from}`, `follow=true&from=${from}`]) {
        expect(await code(operator.request('GET', `/events?${query}`))).toBe('400 POSITION_INVALID');
      }
    });
  });

  /** Resolves when so many more posts are on their way. */
  const sent = (many: number): Promise<void> =>
    new Promise((resolve) => {
      let left = many;
      const one = (message: unknown): void => {
        if ((message as { request: { method: string } }).request.method === 'POST') left -= 1;
        if (left > 0) return;
        unsubscribe('undici:request:bodySent', one);
        resolve();
      };
      subscribe('undici:request:bodySent', one);
    });

  // The last one: it ends the process.
  it('an orderly stop answers what is under way, ends what waits, and exits with 0', async () => {
    const node = await enrolled('polls');
    const { revision } = await node.assignments();
    const poll = node.assignments(revision, '25s');
    const authorization = `Bearer ${await operator.token}`;
    const events = await fetch(`${system.url}/v1/events?follow=true`, { headers: { authorization } });
    const ended = events.text();
    // So that every post finds a connection: one that was not accepted yet is not under way.
    await Promise.all(Array.from({ length: 20 }, () => ada.get('/projects')));
    const underWay = sent(20);
    const posts = Array.from({ length: 20 }, () => ada.request('POST', '/jobs', good));
    await underWay;
    const exit = system.orchestrators[0]!.stop();
    expect((await poll).executions).toEqual([]);
    expect(await ended).toContain(': events');
    const statuses = (await Promise.all(posts)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 201 && status !== 503)).toEqual([]);
    expect(await exit).toBe(0);
  });
});
