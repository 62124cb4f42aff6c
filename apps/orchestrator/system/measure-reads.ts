import type { JobChanges } from '#jobs/api';
import type { EventStreams } from '#platform/http';
import { poolOf, readProjectionStatus } from '#read-store';
import type { Parts } from '../parts.js';

const SSE = ['events', 'logs', 'decisions'];

/** What is looked up when the counters are read: how far the read models are, and who follows what. */
export const measureReads = (parts: Parts, streams: EventStreams, changes: JobChanges): void => {
  const { metrics, readStore, store, projections, clock } = parts;
  metrics.onRead(async () => {
    for (const one of await readProjectionStatus(poolOf(readStore), store, projections, clock)) {
      metrics.projectionLag.set({ projection: one.name }, one.lagSeconds);
      metrics.projectionLagEvents.set({ projection: one.name }, one.lagEvents);
    }
  });
  metrics.onRead(() => {
    const { counts } = streams;
    for (const kind of SSE) metrics.subscriptions.set({ kind }, counts.get(kind) ?? 0);
    metrics.subscriptions.set({ kind: 'graphql' }, changes.open);
  });
};
