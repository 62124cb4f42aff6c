import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EVENT_TYPES } from '#contracts';
import { second } from '#testing';
import {
  addClusterLine,
  applyEvent,
  assume,
  clusterLines,
  decide,
  emptyCluster,
  requestOf,
  unassume,
} from '../index.js';
import type { ClusterEvent, ClusterState } from '../index.js';
import { histories } from '../testing/histories.js';
import { contextAt } from '../testing/world.js';

const fold = (events: readonly ClusterEvent[], cluster = emptyCluster()): ClusterState => {
  for (const event of events) applyEvent(cluster, event);
  return cluster;
};

const textOf = (cluster: ClusterState): string[] => Array.from(clusterLines(cluster), (line) => JSON.stringify(line));

const restored = (text: readonly string[]): ClusterState => {
  const cluster = emptyCluster();
  for (const line of text) addClusterLine(cluster, JSON.parse(line));
  return cluster;
};

const decisions = (cluster: ClusterState): string[] =>
  [...cluster.jobs.values()].flatMap((job) =>
    job.partitions.map((_, partition) =>
      JSON.stringify(decide(requestOf(job, partition), cluster, { ...contextAt(second(400_000)), partition })),
    ),
  );

/** Types that the fold passes over. */
const IGNORED = [
  'ReservationAbandoned',
  'ExecutionProgressed',
  'LateResultRejected',
  'EvaluationFailed',
  'EvaluationsSuperseded',
];

describe('a snapshot of the cluster', () => {
  it('is tried on histories with every type of event', () => {
    const types = fc
      .sample(histories, { seed: 1, numRuns: 300 })
      .flatMap(({ events }) => events.map(({ type }) => type));
    expect(EVENT_TYPES.filter((type) => !types.includes(type))).toEqual(IGNORED);
  });

  it('A-21 and the events after it lead where all the events lead, wherever the log is cut', () => {
    fc.assert(
      fc.property(histories, fc.nat(), ({ events, cluster }, seed) => {
        const cut = seed % (events.length + 1);
        const again = fold(events.slice(cut), restored(textOf(fold(events.slice(0, cut)))));
        expect(again).toEqual(cluster);
        expect(textOf(again)).toEqual(textOf(cluster));
        expect(decisions(again)).toEqual(decisions(cluster));
      }),
      { numRuns: 300 },
    );
  });

  it('A-21 leaves out what is only taken for granted', () => {
    fc.assert(
      fc.property(histories, ({ events, cluster }) => {
        const before = textOf(cluster);
        const contract = { cpu: 1, memory: 1, disk: 0, ioSlots: 1, gpus: [{ id: 'gpu-0', share: 0.2, memory: 1 }] };
        for (const nodeId of cluster.nodes.keys())
          assume(cluster, { executionId: `a.${nodeId}`, nodeId, jobId: 'a', project: 'demo', contract });
        expect(textOf(cluster)).toEqual(before);
        expect(restored(textOf(cluster))).toEqual(fold(events));
        for (const nodeId of cluster.nodes.keys()) unassume(cluster, `a.${nodeId}`);
        expect(textOf(cluster)).toEqual(before);
      }),
    );
  });

  it('keeps one object for an execution, whichever way it is reached', () => {
    fc.assert(
      fc.property(histories, ({ cluster }) => {
        const { live, jobs, ended } = restored(textOf(cluster));
        for (const onNode of live.values())
          for (const execution of onNode.values()) {
            const job = jobs.get(execution.jobId) ?? ended.get(execution.jobId)?.lingering;
            expect(job?.executions.get(execution.executionId)).toBe(execution);
          }
      }),
    );
  });

  it.each([
    ['a part that nobody knows', ['colours', 'red']],
    ['a part that is not stored', ['usage', {}]],
    ['an execution without its job', ['live', ['n1', [['j1', 'j1.1']]]]],
  ] as const)('is refused with %s', (_what, line) => {
    expect(() => addClusterLine(emptyCluster(), line)).toThrow();
  });
});
