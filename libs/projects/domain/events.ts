import type { Instant } from '#kernel';

/** Everything that is ever stored in a `project-<id>` stream. */
export type ProjectEvent = ProjectConfigured;

/** Bounds on what a project may hold reserved at once over all nodes; an absent bound is none. Units as in the inventory. */
export interface Quota {
  readonly cpu?: number;
  readonly memory?: number;
  readonly gpus?: number;
  readonly jobs?: number;
}

/** The whole new configuration; the first one creates the project. */
export interface ProjectConfigured {
  readonly type: 'ProjectConfigured';
  readonly data: {
    readonly projectId: string;
    readonly institution: string;
    /** Accounts that may submit for the project; `*` lets every account of the system in. */
    readonly members: readonly string[];
    readonly quota: Quota;
    /** Fair-share weight, > 0; 1 is ordinary. */
    readonly weight: number;
    readonly at: Instant;
  };
}

export const projectStream = (projectId: string): string => `project-${projectId}`;
export const PROJECT_STREAM_PREFIX = 'project-';
