import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { LocalArtifactStore, LogStore } from '#artifacts';
import { CommandHandler, connectEventStore } from '#event-store';
import type { ConnectedEventStore, StreamDecider, StreamEvent } from '#event-store';
import { currentVersion, upcastRecorded } from '#contracts';
import { jobDecider, jobDeciderWith, noRetries } from '#jobs';
import { jobEntities, jobsProjection } from '#jobs/read';
import type { JobCommands } from '#jobs/write';
import { systemClock, systemIds, systemRandom, systemTimers } from '#kernel';
import type { Clock, Decider, Ids, Timers } from '#kernel';
import { nodeDecider } from '#nodes';
import { nodeEntities, nodesProjection } from '#nodes/read';
import type { NodeCommands } from '#nodes/write';
import { TokenVerifier } from '#platform/auth';
import { createLogger } from '#platform/logging';
import type { Logger } from '#platform/logging';
import { projectDecider } from '#projects';
import { projectEntities, projectsProjection } from '#projects/read';
import type { ProjectCommands } from '#projects/write';
import { createReadStore } from '#read-store';
import type { Projection } from '#read-store';
import { AssignmentBoard, ClusterView, SnapshotFolder, Snapshots } from '#scheduling';
import type { Config } from './config/config.js';
import { measuredStore } from './system/measured-store.js';
import { Metrics } from './system/metrics.js';

/** What the process is made of, before Nest wires the rest: connections, handlers and the shared view. */
export interface Parts {
  readonly config: Config;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tokens: TokenVerifier;
  readonly store: ConnectedEventStore;
  readonly jobs: JobCommands;
  readonly nodes: NodeCommands;
  readonly projects: ProjectCommands;
  readonly view: ClusterView;
  readonly board: AssignmentBoard;
  readonly readStore: DataSource;
  readonly projections: readonly Projection[];
  readonly artifacts: LocalArtifactStore;
  readonly logs: LogStore;
}

/** Nothing connects yet: `Lifecycle` opens what is made here, and closes it. */
export const assemble = (config: Config, onFault: (error: Error) => void): Parts => {
  const [clock, timers, ids] = [systemClock, systemTimers, systemIds];
  const log = createLogger('orchestrator', config.logLevel);
  const connection = { connectionString: config.esdbUrl, clock, timers, random: systemRandom, logger: log };
  const metrics = new Metrics();
  const store = measuredStore(connectEventStore({ ...connection, maxInFlight: 256 }), metrics);
  const view = new ClusterView(store, onFault, snapshotsFor(config, store, log));
  return {
    config,
    clock,
    timers,
    ids,
    log,
    metrics,
    tokens: new TokenVerifier(config.secret),
    store,
    jobs: new CommandHandler(versioned(config.retries ? jobDecider : jobDeciderWith(noRetries)), store, ids),
    nodes: new CommandHandler(versioned(nodeDecider), store, ids),
    projects: new CommandHandler(versioned(projectDecider), store, ids),
    view,
    board: new AssignmentBoard(view, timers),
    readStore: createReadStore({
      url: config.databaseUrl,
      entities: [...jobEntities, ...nodeEntities, ...projectEntities],
    }),
    projections: [jobsProjection, nodesProjection, projectsProjection],
    artifacts: new LocalArtifactStore(join(config.dataDir, 'artifacts')),
    logs: new LogStore(join(config.dataDir, 'logs'), config.logs),
  };
};

const snapshotsFor = (config: Config, events: ConnectedEventStore, log: Logger): Snapshots | undefined => {
  if (config.snapshotEvery === 0) return undefined;
  const store = new SnapshotFolder(join(config.dataDir, 'snapshots'), { clock: systemClock, ids: systemIds });
  return new Snapshots({ store, events, timers: systemTimers, log, every: config.snapshotEvery });
};

/** Events are written with the version of their schema and read as the present one. */
const versioned = <Command, Event extends StreamEvent, State>(
  decider: Decider<Command, Event, State>,
): StreamDecider<Command, Event, State> => ({
  ...decider,
  schemaVersion: (type) => currentVersion(type) ?? 1,
  upcast: (recorded) => upcastRecorded(recorded) as Event,
});
