import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issueToken } from '#platform/auth';
import { SECRET, TestSystem, enrolLabelled, eventsOf, eventually, submitLabelled } from '../system/index.js';
import { runEscalon } from './escalon-process.js';

type Job = Record<string, unknown> & { readonly state: string };

/** Jobs that wait for each other, through the whole system. */
describe('G-55 jobs that wait for each other', () => {
  let system: TestSystem;

  beforeAll(async () => {
    system = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '600' } });
  });

  afterAll(async () => {
    await system.stop();
  });

  const job = (jobId: string): Promise<Job> => system.researcher().get(`/jobs/${jobId}`);
  const when = (jobId: string, ...states: readonly string[]): Promise<Job> =>
    eventually(
      () => job(jobId),
      ({ state }) => states.includes(state),
    );
  const ended = (jobId: string): Promise<Job> => when(jobId, 'completed', 'failed', 'cancelled');
  const after = (...parents: readonly string[]) => ({ dependsOn: parents.map((parent) => ({ job: parent })) });
  const spec = (name: string, change: object = {}) => ({
    name,
    project: 'demo',
    constraints: ['test = graph'],
    task: { command: ['true'] },
    ...change,
  });
  const pointersOf = ({ body }: { body: { errors: { pointer: string }[] } }) =>
    body.errors.map(({ pointer }) => pointer);

  type Left = { readonly path: string; readonly sha256: string; readonly size: number }[];
  const artifactsOf = async (jobId: string): Promise<Left> =>
    (await system.researcher().get<{ items: { artifacts: Left }[] }>(`/jobs/${jobId}/results`)).items[0]!.artifacts;

  it('A-07 G-55 run from one file, in order, each with what the others left, and the branch that cannot be fails', async () => {
    await system.addAgent('worker');
    const token = await issueToken(SECRET, { role: 'researcher', account: 'ada' });
    const env = { ESCALON_URL: system.url, ESCALON_TOKEN: token };
    const cli = (...args: readonly string[]) => runEscalon(args, env);
    const submitted = await cli('job', 'submit', 'examples/diamond/jobs.yaml');
    expect(submitted).toMatchObject({ code: 0, err: '' });
    const ids = submitted.out.trim().split('\n');
    const jobs = await Promise.all(ids.map(ended));
    expect(jobs.map(({ name, state }) => [name, state])).toEqual([
      ['split', 'completed'],
      ['low', 'completed'],
      ['high', 'completed'],
      ['total', 'completed'],
      ['excuse', 'failed'],
    ]);
    const [split, low, high, total, excuse] = jobs;
    for (const half of [low!, high!]) {
      expect(Date.parse(String(half.startedAt))).toBeGreaterThanOrEqual(Date.parse(String(split!.endedAt)));
      expect(Date.parse(String(total!.startedAt))).toBeGreaterThanOrEqual(Date.parse(String(half.endedAt)));
    }
    expect(await system.researcher().get(`/jobs/${ids[3]!}/logs?stream=stdout`)).toBe(1229);
    const left = await Promise.all([ids[1]!, ids[2]!].map(async (id) => [id, await artifactsOf(id)] as const));
    const read = left.flatMap(([id, artifacts]) =>
      artifacts.map(({ path, sha256, size }) => ({ source: `job:${id}/${path}`, sha256, size })),
    );
    const met = (await eventsOf(system.researcher(), ids[3]!)).find(({ type }) => type === 'DependenciesMet');
    expect(met?.data.inputs).toEqual(read);
    expect(excuse).toMatchObject({
      failure: {
        code: 'dependency-impossible',
        message: `waits for job ${ids[1]!} to be failed, and it is completed`,
      },
    });
    expect(await system.operator().get('/audit/verify')).toMatchObject({ differing: 0 });
  });

  it('A-98 tell what they wait for, can be changed meanwhile, and are found again after a crash', async () => {
    const node = await enrolLabelled(system, 'graph', 'graph');
    const api = system.researcher();
    const first = await submitLabelled(system, 'graph');
    const second = await submitLabelled(system, 'graph', after(first));
    const third = await submitLabelled(system, 'graph', after(second));
    const execution = await node.assigned(first);
    await node.report('start', execution);
    await when(first, 'running');
    const waiting = await when(second, 'blocked');
    expect(waiting).toMatchObject({
      reason: `waits for job ${first} (running)`,
      waitsFor: [{ job: first, when: 'completed', state: 'running' }],
      decisions: 0,
    });
    const { items } = await api.get<{ items: Record<string, unknown>[] }>('/queue?project=demo');
    expect(items.map(({ jobId, state, reason }) => [jobId, state, reason])).toEqual([
      [second, 'blocked', `waits for job ${first} (running)`],
      [third, 'blocked', `waits for job ${second} (blocked)`],
    ]);
    const etag = { 'if-match': `"${String(waiting.revision)}"` };
    expect((await api.request('PATCH', `/jobs/${second}`, { priority: 90 }, etag)).status).toBe(200);
    await api.post(`/jobs/${third}/pause`, { reason: 'later' });
    await when(third, 'paused');
    await api.post(`/jobs/${third}/resume`, {});
    await when(third, 'blocked');

    const [orchestrator] = system.orchestrators;
    await orchestrator!.kill('SIGKILL');
    await orchestrator!.start();
    await node.heartbeat();
    await node.succeed(execution);
    await node.succeed(await node.assigned(second));
    const last = await node.assigned(third);
    await node.succeed(last);
    expect(await ended(third)).toMatchObject({ state: 'completed' });
    const types = (await eventsOf(api, third)).map(({ type }) => type);
    expect(types.slice(0, 5)).toEqual([
      'JobSubmitted',
      'JobPaused',
      'JobResumed',
      'DependenciesMet',
      'PlacementDecided',
    ]);
    const cancelled = await submitLabelled(system, 'graph', { constraints: ['test = nobody'] });
    const dependents = [after(cancelled), { dependsOn: [{ job: cancelled, when: 'terminal' }] }];
    const [fails, runs] = await Promise.all(dependents.map((change) => submitLabelled(system, 'graph', change)));
    await api.post(`/jobs/${cancelled}/cancel`, { reason: 'not needed' });
    expect(await ended(fails!)).toMatchObject({ failure: { code: 'dependency-impossible' } });
    await node.succeed(await node.assigned(runs));
  });

  it('E-01 are refused for jobs that are not there, or not to be seen, and for ends that cannot come', async () => {
    const api = system.researcher();
    await system.operator().put('/projects/closed', { institution: 'here', members: ['bob'] });
    const foreign = await system.researcher('bob').post('/jobs', { ...spec('foreign'), project: 'closed' });
    const gone = await submitLabelled(system, 'graph', { constraints: ['test = nobody'] });
    await api.post(`/jobs/${gone}/cancel`, { reason: 'not needed' });
    const service = await submitLabelled(system, 'graph', { type: 'service', constraints: ['test = nobody'] });
    const refused = async (dependsOn: readonly object[]) => api.request('POST', '/jobs', spec('x', { dependsOn }));
    const unknown = await refused([{ job: 'nobody' }, { job: foreign.id }]);
    expect(unknown).toMatchObject({ status: 422, body: { code: 'DEPENDENCY_UNKNOWN' } });
    expect(pointersOf(unknown)).toEqual(['/dependsOn/0/job', '/dependsOn/1/job']);
    const never = await refused([{ job: gone }, { job: service }]);
    expect(never).toMatchObject({ status: 422, body: { code: 'DEPENDENCY_IMPOSSIBLE' } });
    expect(never.body.errors.map(({ message }: { message: string }) => message)).toEqual([
      `waits for job ${gone} to be completed, and it is cancelled`,
      `waits for job ${service} to be completed, and a service never is`,
    ]);
    const twice = await refused([
      { job: service, when: 'terminal' },
      { job: service, when: 'failed' },
    ]);
    expect(pointersOf(twice)).toEqual(['/dependsOn/1/job']);
    const rerun = await submitLabelled(system, 'graph', { dependsOn: [{ job: gone, when: 'terminal' }] });
    await api.post(`/jobs/${rerun}/cancel`, { reason: 'not needed' });
    const changes = { dependsOn: [{ job: gone, when: 'failed' }] };
    const again = await api.request('POST', `/jobs/${rerun}/rerun`, { changes });
    expect(again.body).toMatchObject({ code: 'DEPENDENCY_IMPOSSIBLE' });
    await api.post(`/jobs/${service}/cancel`, { reason: 'not needed' });
  });

  it('E-01 E-02 of one batch are refused together with every mistake, and completed under the key when cut short', async () => {
    const api = system.researcher();
    const names = after('#a', '#nobody');
    const wrong = [spec('a', { count: 0, ...after('#b') }), spec('b', after('#a')), spec('c', names)];
    const refused = await api.request('POST', '/jobs/batch', { items: wrong });
    expect(refused).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } });
    expect(pointersOf(refused).sort()).toEqual([
      '/items/0/count',
      '/items/1/dependsOn/0/job',
      '/items/2/dependsOn/1/job',
    ]);
    const cycle = await api.request('POST', '/jobs/batch', { items: [spec('a', after('#a'))] });
    expect(cycle.body).toMatchObject({ code: 'DEPENDENCY_CYCLE' });

    const nowhere = { constraints: ['test = nobody'] };
    const items = [spec('last', { ...nowhere, ...after('#first') }), spec('first', nowhere)];
    const headers = { 'idempotency-key': 'graph' };
    // What a batch leaves that dies after its first wave.
    const part = await api.request('POST', '/jobs', items[1], { 'idempotency-key': 'graph#1' });
    const whole = await api.request('POST', '/jobs/batch', { items }, headers);
    expect(whole.body.items.map(({ status }: { status: number }) => status)).toEqual([201, 201]);
    expect(whole.body.items[1].id).toBe(part.body.id);
    const repeated = await api.request('POST', '/jobs/batch', { items }, headers);
    expect(repeated.body).toEqual(whole.body);
    const last = await when(whole.body.items[0].id, 'blocked');
    expect(last).toMatchObject({ reason: `waits for job ${String(part.body.id)} (queued)` });
    for (const { id } of whole.body.items) await api.post(`/jobs/${String(id)}/cancel`, { reason: 'not needed' });
  });
});
