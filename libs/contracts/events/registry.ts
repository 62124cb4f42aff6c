import type { JobEvent } from '#jobs';
import type { NodeEvent } from '#nodes';
import type { ProjectEvent } from '#projects';

/** The type names of everything that is ever stored. */
export type EventType = (JobEvent | NodeEvent | ProjectEvent)['type'];

/**
 * The version that each type is written with today. The compiler refuses a type that is missing here or unknown. Raising
 * one takes a schema and a golden file of the new version, and a step in `upcast.ts` from the one before.
 */
const CURRENT_VERSIONS: Readonly<Record<EventType, number>> = {
  JobSubmitted: 1,
  JobPriorityChanged: 1,
  JobPaused: 1,
  JobResumed: 1,
  DependenciesMet: 1,
  TargetsChanged: 1,
  PlacementDecided: 1,
  ExecutionReserved: 1,
  ReservationConfirmed: 1,
  ReservationDeclined: 1,
  ReservationExpired: 1,
  ReservationAbandoned: 1,
  ExecutionPreparing: 1,
  ExecutionStarted: 1,
  ExecutionProgressed: 1,
  ExecutionPaused: 1,
  ExecutionResumed: 1,
  ExecutionPublishing: 1,
  ExecutionSucceeded: 1,
  ExecutionTimedOut: 1,
  ExecutionFailed: 1,
  ExecutionLost: 1,
  ExecutionStopRequested: 1,
  ExecutionCancelled: 1,
  LateResultRejected: 1,
  JobRequeued: 1,
  PartitionFailed: 1,
  EvaluationFailed: 1,
  EvaluationsSuperseded: 1,
  JobCancelRequested: 1,
  JobCompleted: 1,
  JobFailed: 1,
  JobCancelled: 1,
  NodeEnrolled: 1,
  NodeInventoryChanged: 1,
  NodePolicyChanged: 1,
  NodeWentOnline: 1,
  NodeWentOffline: 1,
  NodeCordoned: 1,
  NodeUncordoned: 1,
  NodeDrainStarted: 1,
  NodeLatencyChanged: 1,
  NodeCacheChanged: 1,
  NodePoolChanged: 1,
  CapacityReserved: 1,
  CapacityReduced: 1,
  CapacityReleased: 1,
  ProjectConfigured: 1,
};

/** Every event type, jobs first. */
export const EVENT_TYPES = Object.keys(CURRENT_VERSIONS) as readonly EventType[];

export const isEventType = (type: string): type is EventType => Object.hasOwn(CURRENT_VERSIONS, type);

/** The version that the type is written with; undefined for a type that this code does not know. */
export function currentVersion(type: EventType): number;
export function currentVersion(type: string): number | undefined;
export function currentVersion(type: string): number | undefined {
  return isEventType(type) ? CURRENT_VERSIONS[type] : undefined;
}
