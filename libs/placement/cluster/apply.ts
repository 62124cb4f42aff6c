import type { JobEvent } from '#jobs';
import type { NodeEvent } from '#nodes';
import type { ProjectEvent } from '#projects';
import { applyJobEvent } from './apply-job.js';
import { applyNodeEvent } from './apply-node.js';
import type { ClusterState } from './state.js';
import { JOB_STREAM_PREFIX, NODE_STREAM_PREFIX, PROJECT_STREAM_PREFIX } from './streams.js';

/** What the fold needs of a recorded event. */
export interface ClusterEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: bigint;
  readonly type: string;
  readonly data: unknown;
}

/**
 * Folds one event into the cluster, in place. Events of a stream come in the order of their revisions; one at a revision
 * that was applied already is skipped, so a subscription may repeat itself. Types and streams that placement does not
 * know move the position only.
 */
export const applyEvent = (cluster: ClusterState, event: ClusterEvent): void => {
  const { stream, revision } = event;
  if (stream.startsWith(JOB_STREAM_PREFIX)) {
    applyJobEvent(cluster, stream.slice(JOB_STREAM_PREFIX.length), revision, event as unknown as JobEvent);
  } else if (stream.startsWith(NODE_STREAM_PREFIX)) {
    applyNodeEvent(cluster, stream.slice(NODE_STREAM_PREFIX.length), revision, event as unknown as NodeEvent);
  } else if (stream.startsWith(PROJECT_STREAM_PREFIX)) {
    applyProjectEvent(cluster, stream.slice(PROJECT_STREAM_PREFIX.length), revision, event as unknown as ProjectEvent);
  }
  if (event.position > cluster.position) cluster.position = event.position;
};

/** The type is looked at although this version knows only one: a newer writer may know more. */
const applyProjectEvent = (cluster: ClusterState, id: string, revision: bigint, event: ProjectEvent): void => {
  const type: string = event.type;
  const known = cluster.projects.get(id);
  if (type !== 'ProjectConfigured' || (known && revision <= known.revision)) return;
  const { institution, members, quota, weight } = event.data;
  cluster.projects.set(id, { id, institution, members, quota, weight, revision });
};
