export { entityOf } from './entity.js';
export { LeaderLock } from './leader-lock.js';
export type { LeaderLockOptions } from './leader-lock.js';
export { InvalidCursor, InvalidFilter, pageLimit, pageOf, readCursor, readFilter, writeCursor } from './page.js';
export type { Page, PageRequest } from './page.js';
export { CheckpointMoved } from './projection/checkpoints.js';
export { ProjectionPositions } from './projection/positions.js';
export type { ProjectionPositionsOptions } from './projection/positions.js';
export { PoisonEvent, UnknownEventType } from './projection/projection.js';
export type { Projection, RowReference, Rows } from './projection/projection.js';
export { RebuildCancelled, RebuildUnderWay, rebuildProjection } from './projection/rebuild.js';
export type { RebuildOptions, RebuildProgress } from './projection/rebuild.js';
export { PROJECTION_LOCK, ProjectionRunner } from './projection/runner.js';
export type { ProjectionRunnerOptions, RunnerLog, RunnerState } from './projection/runner.js';
export { CheckpointAhead } from './projection/session.js';
export { readProjectionStatus } from './projection/status.js';
export type { ProjectionStateName, ProjectionStatus } from './projection/status.js';
export {
  bigint,
  boolean,
  double,
  instant,
  integer,
  json,
  nullable,
  once,
  searchableJson,
  text,
  textList,
} from './projection/table.js';
export type { Columns, KeyedTable, LogTable, Table, Tracked } from './projection/table.js';
export { createReadStore, isUpToDate, migrate, openReadStore, poolOf } from './read-store.js';
export type { ReadStoreOptions } from './read-store.js';
export { MemoryIdempotencyStore, PostgresIdempotencyStore } from './telemetry/idempotency-store.js';
export type {
  IdempotencyKey,
  IdempotencyOutcome,
  IdempotencyStore,
  KeptAnswer,
} from './telemetry/idempotency-store.js';
export { PostgresPresenceStore } from './telemetry/presence-store.js';
export type { TelemetryLog } from './telemetry/pending-writes.js';
export { ProgressStore } from './telemetry/progress-store.js';
export type { Progress } from './telemetry/progress-store.js';
export { PostgresSubscriberPositions } from './telemetry/subscriber-positions.js';
