import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestSystem, count, eventually, wholeLog } from '../system/index.js';

interface GraphqlAnswer {
  readonly data: Readonly<Record<string, { readonly id: string }>>;
  readonly errors: readonly { readonly extensions: { readonly code: string } }[];
}

describe('submitting', () => {
  let system: TestSystem;

  beforeAll(async () => {
    system = await TestSystem.start();
  });

  afterAll(async () => {
    await system.stop();
  });

  const good = { name: 'one', project: 'demo', task: { command: ['true'] } };

  it('E-01 names three mistakes and an unknown field in one answer, and stores nothing', async () => {
    const before = await wholeLog(system.operator());
    const spec = { ...good, priority: 200, resources: { cpu: -1, memory: '4 bananas' }, colour: 'blue' };
    const answer = await system.researcher().request('POST', '/jobs', spec);
    expect(answer.status).toBe(422);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(answer.body).toMatchObject({ code: 'VALIDATION_FAILED', retryable: false });
    const pointers = answer.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort();
    expect(pointers).toEqual(['/colour', '/priority', '/resources/cpu', '/resources/memory']);
    expect(await wholeLog(system.operator())).toEqual(before);
  });

  it('E-01 what it refers to is named with all the rest, and has its own problem when nothing else is wrong', async () => {
    const api = system.researcher();
    const pointers = (answer: { body: { errors: { pointer: string }[] } }) =>
      answer.body.errors.map(({ pointer }) => pointer).sort();
    const inputs = [{ source: 'job:0198-nobody/out.csv', path: 'in.csv' }];
    const mixed = await api.request('POST', '/jobs', { ...good, project: 'nowhere', inputs, count: 0, colour: 'red' });
    expect(mixed).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } });
    expect(pointers(mixed)).toEqual(['/colour', '/count', '/inputs/0/source', '/project']);
    const alone = await api.request('POST', '/jobs', { ...good, project: 'nowhere' });
    expect(alone.body).toMatchObject({ code: 'PROJECT_UNKNOWN', errors: [{ pointer: '/project' }] });
    const both = await api.request('POST', '/jobs/plan', { ...good, project: 'nowhere', inputs });
    expect(both.body.code).toBe('VALIDATION_FAILED');
    expect(pointers(both)).toEqual(['/inputs/0/source', '/project']);
  });

  it('E-01 every field that is ignored is in the warnings, whichever way it is submitted', async () => {
    const api = system.researcher();
    const spec = { ...good, profile: 'gpu', weights: { queue: 1 }, retry: { backoff: 'constant', maxInterval: '1h' } };
    const ignored = [
      '/profile is ignored: weights are given',
      '/retry/maxInterval is ignored: the backoff is constant',
    ];
    expect((await api.post('/jobs', spec)).warnings).toEqual(expect.arrayContaining(ignored));
    expect((await api.post('/jobs/plan', spec)).warnings).toEqual(expect.arrayContaining(ignored));
    const { items } = await api.post('/jobs/batch', { items: [spec] });
    expect(items[0].warnings).toEqual(expect.arrayContaining(ignored));
    const query = 'mutation ($spec: JSON!) { submitJob(spec: $spec) { warnings } }';
    const { data } = await api.post('/graphql', { query, variables: { spec } });
    expect(data.submitJob.warnings).toEqual(expect.arrayContaining(ignored));
  });

  it('E-02 the same idempotency key and job twice is one job; another job under it is refused', async () => {
    const api = system.researcher();
    const submissions = async (): Promise<number> => count(await wholeLog(system.operator()), 'JobSubmitted');
    const before = await submissions();
    const headers = { 'idempotency-key': '"run-1"' };
    const [first, second] = await Promise.all([
      api.request('POST', '/jobs', good, headers),
      api.request('POST', '/jobs', good, headers),
    ]);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    const other = await api.request('POST', '/jobs', { ...good, name: 'two' }, headers);
    expect(other).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(await submissions()).toBe(before + 1);
  });

  it('E-02 a repetition gets the first answer, also when the account could not submit it any more', async () => {
    await system.operator().put('/projects/left', { institution: 'here', members: ['ada'] });
    const api = system.researcher();
    const key = { 'idempotency-key': 'before-leaving' };
    const first = await api.request('POST', '/jobs', { ...good, project: 'left' }, key);
    await system.operator().put('/projects/left', { institution: 'here', members: ['eve'] });
    expect(await api.request('POST', '/jobs', { ...good, project: 'left' }, key)).toMatchObject({
      status: 201,
      body: first.body,
    });
    const edited = { ...good, project: 'left', priority: 60 };
    expect((await api.request('POST', '/jobs', edited, key)).body.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect((await api.request('POST', '/jobs', edited)).body.code).toBe('PROJECT_NOT_MEMBER');
  });

  it('A-23 A-24 an unknown project and a project of others are refused', async () => {
    await system.operator().put('/projects/closed', { institution: 'here', members: ['eve'] });
    const api = system.researcher();
    expect(await api.request('POST', '/jobs', { ...good, project: 'nowhere' })).toMatchObject({
      status: 422,
      body: { code: 'PROJECT_UNKNOWN' },
    });
    expect(await api.request('POST', '/jobs', { ...good, project: 'closed' })).toMatchObject({
      status: 403,
      body: { code: 'PROJECT_NOT_MEMBER' },
    });
  });

  it('answers nothing without a token but health', async () => {
    const statuses = await Promise.all(
      ['/v1/jobs', '/v1/nodes', '/v1/events', '/metrics', '/graphql'].map(
        async (path) => (await fetch(system.url + path)).status,
      ),
    );
    expect(statuses).toEqual([401, 401, 401, 401, 401]);
    for (const path of ['/livez', '/readyz']) expect((await fetch(system.url + path)).status).toBe(200);
  });

  it('lets each role do its own part only', async () => {
    const auditor = system.as({ role: 'auditor', account: 'vera' });
    expect((await auditor.request('POST', '/jobs', good)).status).toBe(403);
    expect((await auditor.request('GET', '/events')).status).toBe(200);
    expect((await system.researcher().request('GET', '/events')).status).toBe(403);
    expect((await system.researcher().request('PUT', '/projects/x', {})).status).toBe(403);
  });

  it('reads its own write with Escalon-Min-Position, and honours If-Match', async () => {
    const api = system.researcher();
    const created = await api.request<{ id: string }>('POST', '/jobs', good);
    const position = created.headers.get('escalon-position') ?? '';
    const read = await api.request('GET', `/jobs/${created.body.id}`, undefined, { 'escalon-min-position': position });
    expect(read).toMatchObject({ status: 200, body: { id: created.body.id } });
    const stale = await api.request(
      'POST',
      `/jobs/${created.body.id}/cancel`,
      { reason: 'x' },
      { 'if-match': '"999"' },
    );
    expect(stale).toMatchObject({ status: 412, body: { code: 'REVISION_MISMATCH' } });
    expect((await api.request('PATCH', `/jobs/${created.body.id}`, { priority: 90 })).status).toBe(428);
  });

  it('E-01 nothing that was asked is passed over: a cancel without a reason, conditions that are not there', async () => {
    const api = system.researcher();
    const { id } = await api.post<{ id: string }>('/jobs', good);
    const mistakes = async (method: string, path: string, body?: object): Promise<unknown[]> => {
      const answer = await api.request(method, `/jobs/${id}/${path}`, body);
      return [answer.status, (answer.body.errors as { pointer: string }[]).map(({ pointer }) => pointer).toSorted()];
    };
    expect(await mistakes('POST', 'cancel', {})).toEqual([422, ['/reason']]);
    expect(await mistakes('POST', 'cancel', { reason: ' ', force: true })).toEqual([422, ['/force', '/reason']]);
    expect(await mistakes('GET', 'results?limit=1&try=2')).toEqual([422, ['/limit', '/try']]);
    const wrong = 'logs?lines=3&tail=x&stream=both&follow=yes';
    expect(await mistakes('GET', wrong)).toEqual([422, ['/follow', '/lines', '/stream', '/tail']]);
    expect(await api.post(`/jobs/${id}/cancel`, { reason: 'not needed' })).toMatchObject({ id });
  });

  it('E-01 a job that no node could ever run is told so at once', async () => {
    const { ProtocolNode } = await import('../system/index.js');
    await new ProtocolNode('small', system.as({ role: 'node', account: 'enrol' })).enrol();
    await eventually(
      () => system.researcher().post('/jobs/plan', good),
      ({ considered }) => considered === 1,
    );
    const { body } = await system.researcher().request('POST', '/jobs', { ...good, resources: { memory: '64GiB' } });
    expect(body.warnings.join()).toMatch(/64 GiB/);
    expect(body.warnings.join()).toMatch(/8 GiB/);
  });

  it('serves GraphQL: submit, read, cancel, and the subscription of what changes', async () => {
    const { createClient } = await import('graphql-ws');
    const { default: WebSocket } = await import('ws');
    const token = await system.researcher().token;
    const query = async (text: string, variables: object): Promise<GraphqlAnswer> => {
      const answer = await system.researcher().request<GraphqlAnswer>('POST', '/graphql', { query: text, variables });
      return answer.body;
    };
    class Authorised extends WebSocket {
      constructor(url: string, protocols: string) {
        super(url, protocols, { headers: { authorization: `Bearer ${token}` } });
      }
    }
    const client = createClient({
      url: `${system.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: Authorised,
      retryAttempts: 0,
    });
    const changes = client.iterate<{ jobChanged: { jobId: string; type: string } }>({
      query: 'subscription { jobChanged { jobId type revision position } }',
    });
    const submit = async (): Promise<string> => {
      const text = 'mutation ($spec: JSON!) { submitJob(spec: $spec) { id warnings revision } }';
      return (await query(text, { spec: good })).data.submitJob!.id;
    };
    // A subscription is not acknowledged: that it stands is known when it first tells of something.
    const heard: unknown[] = [];
    const first = changes.next().then((change) => heard.push(change));
    while (heard.length === 0) await submit();
    await first;
    const id = await submit();
    let told = (await changes.next()).value?.data?.jobChanged;
    while (told && told.jobId !== id) told = (await changes.next()).value?.data?.jobChanged;
    expect(told?.type).toBe('JobSubmitted');
    const cancelled = await query('mutation ($id: ID!) { cancelJob(id: $id, reason: "no") { id state } }', { id });
    expect(cancelled.data.cancelJob).toEqual({ id, state: 'cancelled' });
    const wrong = await query('mutation { submitJob(spec: {name: 7}) { id } }', {});
    expect(wrong.errors[0]!.extensions.code).toBe('VALIDATION_FAILED');
    await changes.return?.();
    await client.dispose();
  });

  it('refuses a websocket without a token at the upgrade', async () => {
    const { default: WebSocket } = await import('ws');
    const socket = new WebSocket(`${system.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    const error = await new Promise<Error>((resolve) => socket.once('error', resolve));
    expect(error.message).toContain('401');
  });

  it('describes itself at /docs', async () => {
    const document = (await (await fetch(`${system.url}/docs/openapi.json`)).json()) as {
      openapi: string;
      paths: object;
    };
    expect(document.openapi).toMatch(/^3\.1/);
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/v1/jobs', '/v1/nodes/{id}/assignments']));
  });
});
