import type { ClusterState, Front } from '#placement';

/** Who became the first in line of a pool, and who was; what is kept for it may have changed, or the pool's discipline. */
export interface FrontMoved {
  readonly pool: string;
  readonly was: string | undefined;
  readonly is: string | undefined;
  /** Nothing is kept for the first yet: it has not been looked at as such. */
  readonly isNew: boolean;
}

/** Watches the fronts of the pools' lines. */
export class PoolFronts {
  private known = new Map<string, Front | undefined>();

  /** Since the last call; at the first all that there are. */
  moved({ pools }: ClusterState): FrontMoved[] {
    if (pools.size === 0 && this.known.size === 0) return [];
    const now = new Map([...pools].map(([name, { front }]) => [name, front]));
    const before = this.known;
    this.known = now;
    return [...new Set([...now.keys(), ...before.keys()])].flatMap((pool) => {
      const [was, is] = [before.get(pool), now.get(pool)];
      if (was === is) return [];
      return [{ pool, was: was?.jobId, is: is?.jobId, isNew: is !== undefined && is.hold === undefined }];
    });
  }
}
