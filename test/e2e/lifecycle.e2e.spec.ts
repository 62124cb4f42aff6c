import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jobStateName } from '#jobs';
import {
  count,
  eventsOf,
  eventually,
  heldOn,
  statesOf,
  TestSystem,
  typesOf,
  violations,
  wholeLog,
} from '../system/index.js';

/** One real agent on the real stack. */
describe('a job from submission to result', () => {
  let system: TestSystem;

  beforeAll(async () => {
    system = await TestSystem.start();
    await system.addAgent('lab-a');
  });

  afterAll(async () => {
    await system.stop();
  });

  const submit = async (change: object = {}): Promise<string> => {
    const spec = {
      name: 'hello',
      project: 'demo',
      application: { name: 'node', version: '>=20' },
      resources: { cpu: 0.5, memory: '128MiB' },
      estimate: { duration: '1m' },
      task: {
        command: [
          'node',
          '-e',
          "console.log('::progress 0.5 half'); require('fs').writeFileSync('r.json', '{\"n\":1}')",
        ],
      },
      outputs: ['r.json'],
      ...change,
    };
    const { id } = await system.researcher().post<{ id: string }>('/jobs', spec);
    return id;
  };

  const ended = async (jobId: string): Promise<Record<string, unknown>> =>
    eventually(
      () => system.researcher().get<Record<string, unknown>>(`/jobs/${jobId}`),
      ({ state }) => ['completed', 'failed', 'cancelled'].includes(String(state)),
    );

  it('A-18 A-38 A-47 A-48 A-49 A-50 A-51 completes, with decision, artifacts, consumption, node and movements on record', async () => {
    const jobId = await submit();
    expect(await ended(jobId)).toMatchObject({ state: 'completed', nodeId: 'lab-a', attempt: 1, account: 'ada' });

    const api = system.researcher();
    const events = await eventsOf(api, jobId);
    const order = ['JobSubmitted', 'PlacementDecided', 'ExecutionReserved', 'ReservationConfirmed', 'ExecutionStarted'];
    expect(typesOf(events).slice(0, 5)).toEqual(order);
    expect(typesOf(events).slice(-2)).toEqual(['ExecutionSucceeded', 'JobCompleted']);

    const { items: timeline } = await api.get(`/jobs/${jobId}/timeline`);
    expect(timeline.map(({ type }: { type: string }) => type)).toEqual(typesOf(events));
    const decision = await api.get(`/jobs/${jobId}/decisions/1`);
    expect(decision).toMatchObject({ outcome: 'placed', winner: 'lab-a', considered: 1, eligible: 1 });
    expect(decision.explanation[0]).toContain('lab-a');
    const why = await api.get(`/jobs/${jobId}/decisions/1?node=lab-a`);
    expect(why).toMatchObject({ node: { kind: 'eligible', place: 1, ranked: decision.ranking[0] } });
    const whyNot = await api.get(`/jobs/${jobId}/decisions/1?node=nowhere`);
    expect(whyNot.explanation).toEqual(['At decision 1 there was no node nowhere.']);

    const { items: results } = await api.get(`/jobs/${jobId}/results`);
    expect(results).toMatchObject([{ nodeId: 'lab-a', state: 'succeeded', exitCode: 0 }]);
    expect(results[0].consumption.wallSeconds).toBeGreaterThan(0);
    const [artifact] = results[0].artifacts;
    expect(artifact).toMatchObject({ path: 'r.json', size: 7, mediaType: 'application/json' });
    expect(await api.get(`/artifacts/${artifact.sha256}`)).toEqual({ n: 1 });
  });

  it('A-21 the state at each revision can be folded again from the events', async () => {
    const jobId = await submit();
    await ended(jobId);
    const events = await eventsOf(system.researcher(), jobId);
    const names = statesOf(events).map(jobStateName);
    expect(names[0]).toBe('queued');
    expect(names[typesOf(events).indexOf('ExecutionReserved')]).toBe('reserved');
    expect(names[typesOf(events).indexOf('ExecutionStarted')]).toBe('running');
    expect(names.at(-1)).toBe('completed');
    expect(events.map(({ revision }) => revision)).toEqual(events.map((_, index) => String(index)));
  });

  it('A-42 E-05 streams what the task says, and ends the stream with the job', async () => {
    const jobId = await submit({
      task: { command: ['node', '-e', "console.log('one'); console.error('two')"] },
      outputs: [],
    });
    const response = await fetch(`${system.url}/v1/jobs/${jobId}/logs?follow=true`, {
      headers: { authorization: `Bearer ${await system.researcher().token}` },
    });
    const text = await response.text();
    expect(text).toContain('"text":"one\\n"');
    expect(text).toContain('"text":"two\\n"');
    expect(text.trim().split('\n').at(-1)).toBe('data: {"state":"completed"}');
    expect(await system.researcher().get(`/jobs/${jobId}/logs?stream=stdout`)).toBe('one\n');
  });

  it('A-44 A-91 a failure is classified, with the exit code and the last words', async () => {
    const jobId = await submit({
      task: { command: ['node', '-e', "console.error('out of luck'); process.exit(3)"] },
      outputs: [],
    });
    expect(await ended(jobId)).toMatchObject({ state: 'failed', failure: { class: 'application', code: 'exit-code' } });
    const events = await eventsOf(system.researcher(), jobId);
    const failed = events.find(({ type }) => type === 'ExecutionFailed');
    expect(failed?.data).toMatchObject({ class: 'application', exitCode: 3 });
    expect(JSON.stringify(failed?.data.diagnostics)).toContain('out of luck');
    expect(count(events, 'JobRequeued')).toBe(0);
  });

  it('E-04 E-05 a failed job keeps its log, its exit code and what it stored before', async () => {
    const script = "console.log('half'); require('fs').writeFileSync('r.json', '[1]'); process.exit(3)";
    const jobId = await submit({ task: { command: ['node', '-e', script] }, outputs: ['r.json'] });
    await ended(jobId);
    const api = system.researcher();
    const { items } = await api.get(`/jobs/${jobId}/results`);
    const failure = { class: 'application', code: 'exit-code' };
    expect(items).toMatchObject([{ state: 'failed', exitCode: 3, failure, artifacts: [{ path: 'r.json', size: 3 }] }]);
    expect(await api.get(`/artifacts/${items[0].artifacts[0].sha256}`)).toEqual([1]);
    expect(await api.get(`/jobs/${jobId}/logs?execution=${items[0].executionId}`)).toBe('half\n');
  });

  it('E-04 E-05 a stopped job keeps its log and exit code', async () => {
    const script = "console.log('up'); process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000)";
    const jobId = await submit({ task: { command: ['node', '-e', script] }, outputs: [] });
    const api = system.researcher();
    await eventually(
      () => api.get<string>(`/jobs/${jobId}/logs`),
      (text) => text === 'up\n',
    );
    await api.post(`/jobs/${jobId}/cancel`, { reason: 'seen enough' });
    expect(await ended(jobId)).toMatchObject({ state: 'cancelled' });
    const { items } = await api.get(`/jobs/${jobId}/results`);
    expect(items).toMatchObject([{ state: 'cancelled', exitCode: 7, artifacts: [] }]);
    expect(await api.get(`/jobs/${jobId}/logs?tail=5`)).toBe('up\n');
  });

  it('E-03 cancelling a running job stops it on the node', async () => {
    const jobId = await submit({ task: { command: ['node', '-e', 'setInterval(() => {}, 1000)'] }, outputs: [] });
    const api = system.researcher();
    await eventually(
      () => api.get(`/jobs/${jobId}`),
      ({ state }) => state === 'running',
    );
    await api.post(`/jobs/${jobId}/cancel`, { reason: 'changed my mind' });
    expect(await ended(jobId)).toMatchObject({ state: 'cancelled' });
    const events = await eventsOf(api, jobId);
    expect(typesOf(events).slice(-2)).toEqual(['ExecutionCancelled', 'JobCancelled']);
    const again = await api.request('POST', `/jobs/${jobId}/cancel`, { reason: 'once more' });
    expect(again.status).toBe(200);
    expect(await eventsOf(api, jobId)).toHaveLength(events.length);
  });

  it('A-39 gives everything back: the ledgers are empty and no rule of the log is broken', async () => {
    const log = await eventually(
      () => wholeLog(system.operator()),
      (events) => heldOn(events, 'lab-a').length === 0,
    );
    expect(violations(log)).toEqual([]);
  });
});
