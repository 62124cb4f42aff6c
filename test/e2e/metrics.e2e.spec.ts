import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { enrolLabelled, eventsOf, eventually, submitLabelled, TestSystem } from '../system/index.js';

/** The value of each series at `/metrics`, by its name with labels. */
const seriesOf = (text: string): Map<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

describe('metrics', () => {
  let system: TestSystem;
  let begun: number;

  beforeAll(async () => {
    begun = Date.now();
    system = await TestSystem.start({ orchestrators: 2, env: { ESCALON_OFFLINE_AFTER: '600' } });
  });

  afterAll(async () => {
    await system.stop();
  });

  const read = async (orchestrator: number): Promise<Map<string, number>> =>
    seriesOf(String((await system.operator(orchestrator).request('GET', '/metrics')).body));
  /** Of both control planes together, as whoever watches them sums them up. */
  const total = async (name: string): Promise<number> => {
    const [first, second] = [await read(0), await read(1)];
    return (first.get(name) ?? 0) + (second.get(name) ?? 0);
  };

  it('tell of a job that waited, ran and completed, and of all that this took', async () => {
    const api = system.researcher();
    const jobId = await submitLabelled(system, 'metered');
    await enrolLabelled(system, 'metered-0', 'other');
    await eventually(
      () => eventsOf(api, jobId),
      (events) => events.some(({ data }) => data.outcome === 'rejected'),
    );
    const node = await enrolLabelled(system, 'metered-1', 'metered');
    const execution = await node.assigned(jobId);
    await node.report('confirm', execution);
    await node.report('start', execution);
    await node.succeed(execution);
    await eventually(
      () => total('escalon_run_duration_seconds_count{result="succeeded"}'),
      (count) => count === 1,
    );
    const events = await eventsOf(api, jobId);
    const secondsBetween = (from: string, to: string): number => {
      const [first, last] = [from, to].map((type) =>
        Date.parse(String(events.find((one) => one.type === type)?.data.at)),
      );
      return (last! - first!) / 1000;
    };
    const ran = await total('escalon_run_duration_seconds_sum{result="succeeded"}');
    expect(ran).toBeCloseTo(secondsBetween('ExecutionStarted', 'ExecutionSucceeded'), 3);
    expect(await total('escalon_queue_wait_seconds_count')).toBe(1);
    const waited = await total('escalon_queue_wait_seconds_sum');
    expect(waited).toBeGreaterThan(0);
    expect(waited).toBeCloseTo(secondsBetween('JobSubmitted', 'ExecutionReserved'), 3);
    expect(await total('escalon_decisions_total{outcome="placed"}')).toBe(1);
    const decisions = await total('escalon_decision_duration_seconds_count');
    expect(decisions).toBeGreaterThanOrEqual(2);
    // Seconds: none of it took longer than all of it, on whatever machine.
    const elapsed = (Date.now() - begun) / 1000;
    const deciding = await total('escalon_decision_duration_seconds_sum');
    expect(deciding).toBeGreaterThan(0);
    expect(deciding / decisions).toBeLessThan(elapsed);
    expect(await total('escalon_nodes_filtered_total{reason="constraint"}')).toBeGreaterThanOrEqual(1);
    expect(await total('escalon_heartbeats_total')).toBeGreaterThan(0);
    for (const stream of ['job', 'node', 'project']) {
      const appends = await total(`escalon_append_duration_seconds_count{stream="${stream}"}`);
      expect(appends).toBeGreaterThan(0);
      expect(await total(`escalon_append_duration_seconds_sum{stream="${stream}"}`)).toBeLessThan(appends * elapsed);
    }
    expect((await api.get(`/jobs/${jobId}`)).state).toBe('completed');
  });

  it('tell of a reservation that nobody confirmed, and of an append that came second', async () => {
    const jobId = await submitLabelled(system, 'silent', { timeouts: { confirm: '1s' } });
    const node = await enrolLabelled(system, 'silent-1', 'silent');
    await node.assigned(jobId);
    await eventually(
      () => total('escalon_reservation_expiries_total'),
      (count) => count >= 1,
    );
    const waiting = await submitLabelled(system, 'nowhere');
    const change = (word: string, orchestrator: number): Promise<unknown> =>
      system.researcher('ada', orchestrator).request('POST', `/jobs/${waiting}/${word}`, {});
    await eventually(
      async () => {
        await Promise.all(['pause', 'resume', 'pause'].flatMap((word) => [change(word, 0), change(word, 1)]));
        return total('escalon_append_conflicts_total{stream="job"}');
      },
      (conflicts) => conflicts > 0,
    );
  });

  it('tell how far the read models are, and who follows what', async () => {
    const now = await eventually(
      () => read(0),
      (series) => series.get('escalon_projection_lag_events{projection="jobs"}') === 0,
    );
    expect(now.get('escalon_projection_lag_seconds{projection="jobs"}')).toBe(0);
    expect(now.get('escalon_subscriptions_open{kind="store"}')).toBeGreaterThan(0);
    expect(now.get('escalon_subscriptions_open{kind="events"}')).toBe(0);
    const leaving = new AbortController();
    const following = await fetch(`${system.url}/v1/events?follow=true`, {
      headers: { authorization: `Bearer ${await system.operator().token}` },
      signal: leaving.signal,
    });
    expect((await read(0)).get('escalon_subscriptions_open{kind="events"}')).toBe(1);
    leaving.abort();
    await following.text().catch(() => '');
    await eventually(
      () => read(0),
      (series) => series.get('escalon_subscriptions_open{kind="events"}') === 0,
    );
  });
});
