import { Inject, Injectable } from '@nestjs/common';
import { toInstant, toMillis } from '#kernel';
import type { Clock, Millis } from '#kernel';
import { CLOCK } from '#platform/ports';
import { formatSeconds, projectShare } from '#placement';
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
      return { ...entry, share, weight, place };
    });
    return { items: placed, next };
  }
}
