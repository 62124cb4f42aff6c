import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { metricsPage } from './metrics-page.js';
import { Metrics } from './metrics.js';

describe('metrics', () => {
  const { own } = new Metrics();

  it('have their page in the reference (node tools/reference-pages.mjs writes it)', () => {
    expect(readFileSync('docs/reference/metrics.md', 'utf8')).toBe(metricsPage());
  });

  it('begin with the prefix, count in base units and have no id for a label', () => {
    for (const { name, type, labels } of own) {
      expect(name).toMatch(/^escalon_[a-z0-9_]+$/);
      if (type === 'histogram') expect(name).toMatch(/_(?:seconds|bytes)$/);
      if (type === 'counter') expect(name).toMatch(/_(?:total|faults)$/);
      expect(labels.filter((label) => /(?:^|_)id$|job|execution|account/i.test(label))).toEqual([]);
    }
  });

  it('cover what the orchestrator is to be watched by', () => {
    const names = own.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'escalon_queue_wait_seconds',
        'escalon_decision_duration_seconds',
        'escalon_nodes_filtered_total',
        'escalon_append_duration_seconds',
        'escalon_append_conflicts_total',
        'escalon_projection_lag_events',
        'escalon_projection_lag_seconds',
        'escalon_heartbeats_total',
        'escalon_reservation_expiries_total',
        'escalon_run_duration_seconds',
        'escalon_subscriptions_open',
      ]),
    );
  });

  it('are read although one of them cannot be looked up', async () => {
    const metrics = new Metrics();
    metrics.heartbeats.inc();
    metrics.onRead(() => Promise.reject(new Error('the database is away')));
    metrics.onRead(() => {
      throw new Error('nor this');
    });
    expect(await metrics.read()).toContain('escalon_heartbeats_total 1');
  });
});
