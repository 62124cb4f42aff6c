import { Inject, Injectable } from '@nestjs/common';
import { toInstant, toMillis } from '#kernel';
import type { Clock, Millis } from '#kernel';
import { CLOCK } from '#platform/ports';
import { formatSeconds, placeInLine, projectShare } from '#placement';
import type { ClusterPool, ClusterState } from '#placement';
import { ClusterView } from '#scheduling';
import { JobQueries } from '../read/index.js';
import type { JobListRequest } from '../read/index.js';

/** How long a job waits for one more point of priority; 0 for never. */
export const AGING = Symbol('Aging');

/** The queue in the scheduler's order: the read model knows the jobs, the view of the cluster the shares of their projects. */
@Injectable()
export class QueueOrder {
  constructor(
    private readonly jobs: JobQueries,
    private readonly view: ClusterView,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(AGING) private readonly aging: Millis,
  ) {}

  /** Each entry says why it has its place. Throws `InvalidCursor` or `InvalidFilter`. */
  async list(request: JobListRequest): Promise<{ items: readonly object[]; next: string | null }> {
    const { cluster } = this.view;
    const now = this.clock.now();
    const known = [...cluster.projects.values()];
    const present = new Map(known.map(({ id }) => [id, projectShare(cluster, id, now)]));
    const { items, next, shares } = await this.jobs.queue({
      ...request,
      shares: present,
      aging: this.aging,
      asOf: toInstant(now),
    });
    const placed = items.map((entry) => {
      const weight = cluster.projects.get(entry.project)?.weight ?? 1;
      const share = Number(((shares.get(entry.project) ?? 0) * weight).toFixed(4));
      const waiting = formatSeconds((now - toMillis(entry.submittedAt)) / 1000);
      const place = `priority ${entry.priority}, project share ${share} of weight ${weight}, waiting ${waiting}`;
      const lines = linesOf(cluster, entry.jobId, request.visible);
      return { ...entry, share, weight, lines, place: [place, ...lines.map(inWords)].join('; ') };
    });
    return { items: placed, next };
  }
}

/** Where a job stands in the line of a pool, from 1. */
interface QueuedLine {
  readonly pool: string;
  readonly place: number;
  /** Who is first, where the reader sees it; null for the first itself. */
  readonly behind: string | null;
  /** Of the first; null while nobody knows. */
  readonly expectedStart: string | null;
}

const linesOf = (cluster: ClusterState, jobId: string, visible: readonly string[] | undefined): QueuedLine[] =>
  [...cluster.pools.values()].flatMap((pool) => {
    const place = placeInLine(pool, jobId);
    if (place === undefined) return [];
    const first = place > 1 ? firstSeen(cluster, pool, visible) : undefined;
    const expectedStart = (place === 1 ? pool.front?.hold?.from : undefined) ?? null;
    return [{ pool: pool.name, place, behind: first ?? null, expectedStart }];
  });

const firstSeen = (
  { jobs }: ClusterState,
  { front }: ClusterPool,
  visible: readonly string[] | undefined,
): string | undefined => {
  const job = front && jobs.get(front.jobId);
  return job && (visible === undefined || visible.includes(job.project)) ? job.id : undefined;
};

const inWords = ({ pool, place, behind, expectedStart }: QueuedLine): string => {
  if (place > 1) return `number ${place} in the line of pool ${pool}${behind === null ? '' : `, behind ${behind}`}`;
  return `first in the line of pool ${pool}, expected to start ${expectedStart ?? 'nobody knows when'}`;
};
