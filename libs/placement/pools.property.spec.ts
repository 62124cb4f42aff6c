import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { second } from '#testing';
import { applyEvent, decide, emptyCluster, requestOf } from './index.js';
import type { ClusterEvent, ClusterState } from './index.js';
import { histories } from './testing/histories.js';
import { contextAt } from './testing/world.js';

const decisions = (cluster: ClusterState, time: string): string[] =>
  [...cluster.jobs.values()].flatMap((job) =>
    job.partitions.map((_, partition) =>
      JSON.stringify(decide(requestOf(job, partition), cluster, { ...contextAt(time), partition })),
    ),
  );

/** The decisions after each of the events, all on one cluster or each on one of its own. */
const allAlong = (events: readonly ClusterEvent[], fresh: boolean): string[][] => {
  let cluster = emptyCluster();
  return events.map((event, index) => {
    if (fresh) {
      cluster = emptyCluster();
      for (const before of events.slice(0, index)) applyEvent(cluster, before);
    }
    applyEvent(cluster, event);
    // Clocks of processes differ, so time may go back.
    if (!fresh) decisions(cluster, second(400_000));
    return decisions(cluster, second(500 * Number(event.position)));
  });
};

const isOfPool = ({ type }: ClusterEvent): boolean => type === 'NodePoolChanged';

/** The same without a line to stand in. */
const asPriority = (event: ClusterEvent): ClusterEvent => {
  const { pool } = event.data as { readonly pool?: { readonly name: string } | null };
  if (!isOfPool(event) || !pool) return event;
  return { ...event, data: { ...(event.data as object), pool: { ...pool, discipline: 'priority' } } };
};

describe('decisions where nodes are in pools', () => {
  it('A-21 are the same whatever was asked before', () => {
    fc.assert(
      fc.property(histories, ({ events }) => {
        const some = events.slice(0, 60);
        expect(allAlong(some, false)).toEqual(allAlong(some, true));
      }),
      { numRuns: 25 },
    );
  });

  it('are those without pools when the discipline is `priority`', () => {
    fc.assert(
      fc.property(histories, ({ events }) => {
        const without = events.filter((event) => !isOfPool(event));
        const plain = allAlong(without, false);
        const pooled = allAlong(events.map(asPriority), false).filter((_, index) => {
          const event = events[index];
          return event !== undefined && !isOfPool(event);
        });
        expect(pooled).toEqual(plain);
      }),
      { numRuns: 25 },
    );
  });
});
