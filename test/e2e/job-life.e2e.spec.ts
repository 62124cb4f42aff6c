import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  count,
  drainSoon,
  enrolLabelled,
  eventsOf,
  eventually,
  heldOn,
  submitLabelled,
  TestSystem,
  violations,
  wholeLog,
} from '../system/index.js';
import type { Assigned, ProtocolNode } from '../system/index.js';

/**
 * Seconds over `timeouts.run` after which a run is over even where nobody looked at its clock. By its clock it is over within a
 * second, as the specs with a clock of their own show; here the machine may be slow.
 */
const GRACE = 60;

/** How a job ends, or goes on, by other words than its task's: its timeouts, a drain, its user, a rerun. */
describe('the life of a job', () => {
  let system: TestSystem;

  beforeAll(async () => {
    // Only what a test is about runs out: nodes that speak by hand stay online meanwhile.
    system = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '600', ESCALON_RUN_GRACE: String(GRACE) } });
  });

  afterAll(async () => {
    await system.stop();
  });

  const enrolled = (name: string, label: string): Promise<ProtocolNode> => enrolLabelled(system, name, label);
  const submit = (label: string, change: object = {}): Promise<string> => submitLabelled(system, label, change);

  const started = async (node: ProtocolNode, jobId: string): Promise<Assigned> => {
    const execution = await node.assigned(jobId);
    await node.report('confirm', execution);
    await node.report('start', execution);
    return execution;
  };

  const job = (jobId: string): Promise<Record<string, unknown>> => system.researcher().get(`/jobs/${jobId}`);
  const inState = (jobId: string, wanted: string): Promise<Record<string, unknown>> =>
    eventually(
      () => job(jobId),
      ({ state }) => state === wanted,
    );
  /** Until the node is told that this is to stop, or is over. */
  const toldOff = (node: ProtocolNode, { executionId }: Assigned): Promise<Assigned[]> =>
    eventually(
      () => node.assignments().then(({ executions }) => executions.filter((one) => one.executionId === executionId)),
      (mine) => mine.every(({ desired }) => desired === 'stop'),
    );

  it('S-10 a job that waits longer than it may says so, and nobody cancelled it', async () => {
    const jobId = await submit('nowhere', { timeouts: { queue: '1s' } });
    const ended = await inState(jobId, 'failed');
    const failure = { class: 'timeout', code: 'queue-timeout', message: 'timed out after 1 s in the queue' };
    expect(ended).toMatchObject({ failure, reason: failure.message });
    expect(Date.parse(String(ended.endedAt)) - Date.parse(String(ended.submittedAt))).toBeGreaterThanOrEqual(1000);
    expect(count(await eventsOf(system.researcher(), jobId), 'JobCancelRequested', 'JobCancelled')).toBe(0);
  });

  it('S-10 S-07 a job that takes longer than it may ends, and its node stops what runs', async () => {
    const node = await enrolled('total-1', 'total');
    const jobId = await submit('total', { timeouts: { total: '5s' } });
    const execution = await started(node, jobId);
    expect(await inState(jobId, 'failed')).toMatchObject({ failure: { class: 'timeout', code: 'total-timeout' } });
    expect(await toldOff(node, execution)).toMatchObject([{ desired: 'stop' }]);
    await node.report('fail', execution, { class: 'cancelled', code: 'stopped', message: 'stopped as asked' });
    const events = await eventsOf(system.researcher(), jobId);
    expect(events.at(-1)).toMatchObject({
      type: 'ExecutionCancelled',
      data: { reason: 'timed out after 5 s since its submission' },
    });
  });

  const held = async (nodeId: string): Promise<string[]> => heldOn(await wholeLog(system.operator()), nodeId);

  /** From the start of the task it took its job so many seconds to end, and no grace more. */
  const endsInTime = async (jobId: string, run: number): Promise<void> => {
    const events = await eventsOf(system.researcher(), jobId);
    const [start, end] = ['ExecutionStarted', 'JobFailed'].map((type) => events.find((one) => one.type === type));
    const took = (Date.parse(String(end?.data['at'])) - Date.parse(String(start?.data['at']))) / 1000;
    expect(took).toBeGreaterThanOrEqual(run);
    expect(took).toBeLessThan(run + GRACE);
  };

  it('S-10 E-07 a run that its node does not end is over in its time, its contract when the node says so', async () => {
    const node = await enrolled('frozen-1', 'frozen');
    const jobId = await submit('frozen', { timeouts: { run: '1s' } });
    const execution = await started(node, jobId);
    const failure = { class: 'timeout', code: 'run-timeout', message: 'timed out after 1 s' };
    expect(await inState(jobId, 'failed')).toMatchObject({ failure, reason: failure.message });
    await endsInTime(jobId, 1);
    expect(await toldOff(node, execution)).toMatchObject([{ desired: 'stop' }]);
    expect(await held('frozen-1')).toHaveLength(1);
    await node.report('fail', execution, { class: 'cancelled', code: 'stopped', message: 'stopped as asked' });
    await eventually(
      () => held('frozen-1'),
      (left) => left.length === 0,
    );
    expect((await eventsOf(system.researcher(), jobId)).at(-1)).toMatchObject({
      type: 'ExecutionFailed',
      data: failure,
    });
    expect(await job(jobId)).toMatchObject({ state: 'failed', failure });
  });

  it('S-10 A-86 ten seconds of run: failed with "timed out after 10 s" and no grace, although the agent is frozen; it stops the task when it is back', async () => {
    const agent = await system.addAgent('real-1', { config: { labels: { test: 'real' } } });
    const task = { command: ['sleep', '300'] };
    const jobId = await submit('real', { task, timeouts: { run: '10s' }, resources: { cpu: 0.1, memory: '64MiB' } });
    await inState(jobId, 'running');
    agent.signal('SIGSTOP');
    expect(await inState(jobId, 'failed')).toMatchObject({ reason: 'timed out after 10 s' });
    await endsInTime(jobId, 10);
    expect(await held('real-1')).toHaveLength(1);
    agent.signal('SIGCONT');
    await eventually(
      () => held('real-1'),
      (left) => left.length === 0,
    );
    const events = await eventsOf(system.researcher(), jobId);
    expect(count(events, 'ExecutionTimedOut')).toBe(1);
    expect(events.findLast(({ type }) => type === 'ExecutionFailed')?.data).toMatchObject({ code: 'run-timeout' });
    expect(count(events, 'ExecutionCancelled', 'JobCancelled', 'LateResultRejected')).toBe(0);
    expect(await agent.stop()).toBe(0);
  });

  it('S-10 a real agent that lives ends the run itself, in its time too', async () => {
    const agent = await system.addAgent('real-2', { config: { labels: { test: 'alive' } } });
    const task = { command: ['sleep', '300'] };
    const jobId = await submit('alive', { task, timeouts: { run: '1s' }, resources: { cpu: 0.1, memory: '64MiB' } });
    expect(await inState(jobId, 'failed')).toMatchObject({ reason: 'timed out after 1 s' });
    // By its own clock: that it has started may be heard later.
    const failed = (await eventsOf(system.researcher(), jobId)).find(({ type }) => type === 'ExecutionFailed');
    const { wallSeconds } = failed?.data['consumption'] as { readonly wallSeconds: number };
    expect(wallSeconds).toBeGreaterThanOrEqual(1);
    expect(wallSeconds).toBeLessThan(1 + GRACE);
    expect(await agent.stop()).toBe(0);
  });

  it('A-26 A-46 a maintenance of the owner keeps work out, takes off what still runs, and lets it back in', async () => {
    const node = await enrolled('upkeep-1', 'upkeep');
    const jobId = await submit('upkeep');
    await started(node, jobId);
    const inSeconds = (later: number): string => new Date(Date.now() + later * 1000).toISOString();
    const [from, until] = [inSeconds(1), inSeconds(3_600)];
    const maintenance = [{ from, until, reason: 'new disks' }];
    await system.operator().put('/nodes/upkeep-1/policy', { maintenance });
    expect(await system.operator().get('/nodes/upkeep-1')).toMatchObject({ policy: { maintenance } });
    const tooLong = await submit('upkeep', { estimate: { duration: '2m' } });
    const waits = await eventually(
      () => job(tooLong),
      ({ reason }) => String(reason).includes('maintenance'),
    );
    // Told before it begins or, on a slow machine, after.
    const told = [`(asked 2 min, best ${from}; not now)`, `under maintenance (best ${until}; not now)`];
    expect(told.some((words) => String(waits.reason).includes(words))).toBe(true);
    const execution = (await node.assignments()).executions.find((one) => one.executionId.startsWith(jobId))!;
    expect(await toldOff(node, execution)).toMatchObject([{ desired: 'stop' }]);
    await node.report('fail', execution, { class: 'cancelled', code: 'stopped', message: 'stopped as asked' });
    expect(await inState(jobId, 'queued')).toMatchObject({ attempt: 1, failure: null });
    const over = inSeconds(1);
    await system
      .operator()
      .put('/nodes/upkeep-1/policy', { maintenance: [{ from, until: over, reason: 'new disks' }] });
    for (const one of [jobId, tooLong]) expect((await node.assigned(one)).attempt).toBe(1);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(over));
    for (const one of [jobId, tooLong]) await system.researcher().post(`/jobs/${one}/cancel`, { reason: 'over' });
    const left = (await node.assignments()).executions;
    for (const one of left) await node.report('fail', one, { class: 'cancelled', code: 'stopped', message: 'x' });
  });

  it('S-10 names every mistake of the timeouts', async () => {
    const timeouts = { queue: '-1s', run: '3h', total: '2h' };
    const spec = { name: 'x', project: 'demo', task: { command: ['true'] }, timeouts };
    const { status, body } = await system.researcher().request('POST', '/jobs', spec);
    expect(status).toBe(422);
    const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer).sort();
    expect(pointers).toEqual(['/timeouts/queue', '/timeouts/total']);
  });

  it('R-04 what still runs at the deadline of a drain goes elsewhere, and it costs no attempt', async () => {
    const first = await enrolled('drained-1', 'drain');
    const jobId = await submit('drain');
    const execution = await started(first, jobId);
    const second = await enrolled('drained-2', 'drain');
    await drainSoon(system.operator(), 'drained-1');
    await eventually(
      () => eventsOf(system.researcher(), jobId),
      (events) => count(events, 'ExecutionStopRequested') === 1,
    );
    expect(await toldOff(first, execution)).toMatchObject([{ desired: 'stop' }]);
    await first.report('fail', execution, { class: 'cancelled', code: 'stopped', message: 'stopped as asked' });
    const next = await second.assigned(jobId);
    expect(next.attempt).toBe(1);
    await second.succeed(next);
    await inState(jobId, 'completed');
    const events = await eventsOf(system.researcher(), jobId);
    const why = 'node drained-1 is drained: new disks';
    expect(events.find(({ type }) => type === 'JobRequeued')?.data).toMatchObject({ cause: 'cancelled', message: why });
    expect(events.find(({ type }) => type === 'ExecutionCancelled')?.data.reason).toBe(why);
  });

  it('E-05 following a queued job waits, starts at its first line and ends with the job, whatever way', async () => {
    const jobId = await submit('followed');
    const api = system.researcher();
    const response = await fetch(`${system.url}/v1/jobs/${jobId}/logs?follow=true&stream=stdout`, {
      headers: { authorization: `Bearer ${await api.token}` },
    });
    let heard = '';
    const over = (async () => {
      for await (const chunk of response.body!) heard += Buffer.from(chunk).toString();
    })();
    const node = await enrolled('followed-1', 'followed');
    const execution = await started(node, jobId);
    const log = `/executions/${execution.executionId}/logs`;
    await system.node('followed-1').request('PUT', `${log}?stream=stdout&offset=0`, 'first\n');
    await eventually(
      () => Promise.resolve(heard),
      (text) => text.includes('first'),
    );
    await api.post(`/jobs/${jobId}/cancel`, { reason: 'enough' });
    await system.node('followed-1').request('PUT', `${log}?stream=stdout&offset=6`, 'last\n');
    const stopped = { class: 'cancelled', code: 'stopped', message: 'stopped', exitCode: 143 };
    const artifacts = [{ path: 'part.csv', sha256: 'a'.repeat(64), size: 7, mediaType: 'text/csv' }];
    await node.report('fail', execution, { ...stopped, artifacts });
    await over;
    const pieces = heard.split('\n\n').filter((piece) => piece.includes('event:'));
    expect(pieces.map((piece) => /^event: .*/m.exec(piece)?.[0])).toEqual(['event: log', 'event: log', 'event: end']);
    expect(pieces[0]).toContain('"text":"first\\n"');
    expect(pieces[2]).toContain('"state":"cancelled"');
    expect((await api.get(`/jobs/${jobId}/results`)).items).toMatchObject([
      { state: 'cancelled', exitCode: 143, artifacts },
    ]);
  });

  it('E-03 cancelling again changes nothing, cancelling what completed names its state, and who asked is recorded', async () => {
    const api = system.researcher();
    const node = await enrolled('ends-1', 'ends');
    const cancelled = await submit('ends-nowhere');
    await api.post(`/jobs/${cancelled}/cancel`, { reason: 'wrong input' });
    await api.post(`/jobs/${cancelled}/cancel`, { reason: 'once more' });
    const events = await eventsOf(api, cancelled);
    const asked = events.filter(({ type }) => type === 'JobCancelRequested');
    expect(asked.map(({ data }) => data)).toMatchObject([{ reason: 'wrong input', byUser: true }]);
    expect(asked[0]?.metadata.actor).toBe('ada');
    expect(await inState(cancelled, 'cancelled')).toMatchObject({ reason: 'cancelled: wrong input' });
    const completed = await submit('ends');
    await node.succeed(await node.assigned(completed));
    const { status, body } = await api.request('POST', `/jobs/${completed}/cancel`, { reason: 'too late' });
    expect([status, body]).toMatchObject([409, { code: 'JOB_TERMINAL', detail: 'the job is completed already' }]);
  });

  it('E-06 an ended job runs again, changed, as a job of its own that names it', async () => {
    const api = system.researcher();
    const node = await enrolled('again-1', 'again');
    const jobId = await submit('again', { labels: { study: 'coral' }, timeouts: { total: '1h' } });
    const execution = await node.assigned(jobId);
    const early = await api.request('POST', `/jobs/${jobId}/rerun`, {});
    expect([early.status, early.body]).toMatchObject([
      409,
      { code: 'JOB_NOT_TERMINAL', details: { state: 'reserved' } },
    ]);
    expect(early.body.detail).toContain('is reserved');
    await node.succeed(execution);

    const refused = await api.request('POST', `/jobs/${jobId}/rerun`, {
      changes: { count: 0, timeouts: { run: '2h' } },
    });
    expect(refused.status).toBe(422);
    expect(refused.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/count',
      '/timeouts/total',
    ]);
    const changes = { resources: { memory: '2GiB' } };
    const key = { 'idempotency-key': 'again-1' };
    const made = await api.request('POST', `/jobs/${jobId}/rerun`, { changes }, key);
    expect([made.status, made.headers.get('location')]).toEqual([201, `/v1/jobs/${made.body.id}`]);
    expect((await api.request('POST', `/jobs/${jobId}/rerun`, { changes }, key)).body).toEqual(made.body);
    expect((await api.request('POST', `/jobs/${jobId}/rerun`, {}, key)).body.code).toBe('IDEMPOTENCY_KEY_REUSED');

    await node.succeed(await node.assigned(made.body.id));
    const spec = { name: 'again', labels: { study: 'coral' }, resources: { cpu: 1, memory: 2 * 1024 ** 3 } };
    expect(await inState(made.body.id, 'completed')).toMatchObject({ rerunOf: jobId, spec });
    expect(await job(jobId)).toMatchObject({ state: 'completed', rerunOf: null, reruns: [made.body.id] });
    const { items } = await api.get<{ items: { title: string }[] }>(`/jobs/${jobId}/timeline`);
    expect(items.at(-1)?.title).toBe(`ada ran it again, as job ${made.body.id}`);

    const { executionId } = execution;
    const filtered = `type=ReservationConfirmed&execution=${executionId}`;
    const confirmed = await api.get(`/jobs/${jobId}/timeline?${filtered}`);
    expect(confirmed.items).toMatchObject([{ type: 'ReservationConfirmed', executionId }]);
    const wrong = await api.request('GET', `/jobs/${jobId}/timeline?type=NodeEnroled`);
    expect([wrong.status, wrong.body.errors]).toMatchObject([422, [{ pointer: '/type', code: 'NOT_ALLOWED' }]]);
    const raw = await eventsOf(api, jobId);
    const page = await api.get(`/jobs/${jobId}/events?limit=3`);
    const rest = await api.get(`/jobs/${jobId}/events?limit=200&cursor=${page.next}`);
    expect([...page.items, ...rest.items]).toEqual(raw);
    expect(rest.next).toBeNull();
    const query = 'query ($id: ID!) { timeline(id: $id, type: "JobCompleted") }';
    const { timeline } = (await api.post('/graphql', { query, variables: { id: jobId } })).data;
    expect(timeline).toMatchObject([{ type: 'JobCompleted' }]);

    const mutation = 'mutation ($id: ID!) { rerunJob(id: $id, changes: { priority: 70 }) { id } }';
    const { data } = await api.post('/graphql', { query: mutation, variables: { id: made.body.id } });
    expect(
      await eventually(
        () => job(data.rerunJob.id),
        () => true,
      ),
    ).toMatchObject({ rerunOf: made.body.id, priority: 70 });
    const stranger = system.researcher('zoe');
    await system.operator().put('/projects/own', { institution: 'here', members: ['ada'] });
    const own = await submit('again', { project: 'own' });
    expect((await stranger.request('POST', `/jobs/${own}/rerun`, {})).status).toBe(404);
  });

  it('A-87 leaves a log in which everything ended once and was given back', async () => {
    const names = ['total-1', 'frozen-1', 'drained-1', 'drained-2', 'ends-1', 'real-1'];
    const log = await eventually(
      () => wholeLog(system.operator()),
      (all) => names.every((name) => heldOn(all, name).length === 0),
    );
    expect(violations(log)).toEqual([]);
  });
});
