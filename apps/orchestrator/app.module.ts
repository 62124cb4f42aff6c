import { Global, Module } from '@nestjs/common';
import type { DynamicModule, Provider } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { CqrsModule } from '@nestjs/cqrs';
import { GraphQLModule } from '@nestjs/graphql';
import { DataSource } from 'typeorm';
import { LocalArtifactStore, LogStore } from '#artifacts';
import { ArtifactsController } from '#artifacts/api';
import { AGING, JobsApiModule, PROGRESS_SINK, PROJECT_LOOKUP } from '#jobs/api';
import type { ProgressSink, ProjectLookup } from '#jobs/api';
import { JobQueries } from '#jobs/read';
import { JOB_COMMANDS } from '#jobs/write';
import { HEARTBEAT_INTERVAL, NodesApiModule, PRESENCE_SINK } from '#nodes/api';
import type { PresenceSink } from '#nodes/api';
import { NodeQueries } from '#nodes/read';
import { NODE_COMMANDS } from '#nodes/write';
import { TokenVerifier } from '#platform/auth';
import { AuthGuard, EventStreams, MinPositionGuard, ProblemFilter } from '#platform/http';
import { ANSWERS, CLOCK, EVENT_STORE, IDS, LOGGER, POSITION_WAITER, SIGNING_SECRET, TIMERS } from '#platform/ports';
import type { PositionWaiter } from '#platform/ports';
import { projectStream } from '#projects';
import { ProjectsApiModule } from '#projects/api';
import { ProjectQueries } from '#projects/read';
import { PROJECT_COMMANDS } from '#projects/write';
import { AssignmentBoard, ClusterView } from '#scheduling';
import { heartbeatInterval } from './config/config.js';
import { graphqlOptions } from './graphql/graphql-options.js';
import { Lifecycle } from './lifecycle.js';
import type { Parts } from './parts.js';
import { EventsController } from './system/events.controller.js';
import { HealthController } from './system/health.controller.js';
import { Metrics } from './system/metrics.js';
import { ProblemsController } from './system/problems.controller.js';
import { ProjectionsController } from './system/projections.controller.js';
import { TokensController } from './system/tokens.controller.js';
import { PARTS } from './tokens.js';

/** What the platform and the process itself ask for. */
const own = (parts: Parts, lifecycle: Lifecycle): Provider[] => [
  { provide: PARTS, useValue: parts },
  { provide: Lifecycle, useValue: lifecycle },
  { provide: Metrics, useValue: parts.metrics },
  { provide: CLOCK, useValue: parts.clock },
  { provide: TIMERS, useValue: parts.timers },
  { provide: IDS, useValue: parts.ids },
  { provide: LOGGER, useValue: parts.log },
  { provide: EVENT_STORE, useValue: parts.store },
  { provide: SIGNING_SECRET, useValue: parts.config.secret },
  { provide: TokenVerifier, useValue: parts.tokens },
  EventStreams,
];

/** The parts under the names that the contexts ask for. */
const ports = (parts: Parts, lifecycle: Lifecycle): Provider[] => {
  const names = parts.projections.map(({ name }) => name);
  const waiter: PositionWaiter = { wait: (position, timeout) => lifecycle.positions.waitFor(names, position, timeout) };
  const projects: ProjectLookup = {
    project: async (projectId) => (await parts.projects.load(projectStream(projectId))).state,
  };
  const presence: PresenceSink = {
    seen: (nodeId, at, payload) => {
      parts.metrics.heartbeats.inc();
      lifecycle.presence.seen(nodeId, at, payload);
    },
  };
  const progress: ProgressSink = {
    progressed: (executionId, fraction, message, diagnostics) =>
      lifecycle.progress.progressed({ executionId, fraction, message, ...(diagnostics && { diagnostics }) }),
  };
  return [
    ...own(parts, lifecycle),
    { provide: ANSWERS, useValue: lifecycle.answers },
    { provide: POSITION_WAITER, useValue: waiter },
    { provide: JOB_COMMANDS, useValue: parts.jobs },
    { provide: NODE_COMMANDS, useValue: parts.nodes },
    { provide: PROJECT_COMMANDS, useValue: parts.projects },
    { provide: ClusterView, useValue: parts.view },
    { provide: AssignmentBoard, useValue: parts.board },
    { provide: DataSource, useValue: parts.readStore },
    { provide: LocalArtifactStore, useValue: parts.artifacts },
    { provide: LogStore, useValue: parts.logs },
    { provide: PROJECT_LOOKUP, useValue: projects },
    { provide: PRESENCE_SINK, useValue: presence },
    { provide: HEARTBEAT_INTERVAL, useValue: heartbeatInterval(parts.config) },
    { provide: PROGRESS_SINK, useValue: progress },
    { provide: AGING, useValue: parts.config.aging * 1000 },
    { provide: JobQueries, useValue: new JobQueries(parts.readStore) },
    { provide: NodeQueries, useValue: new NodeQueries(parts.readStore) },
    { provide: ProjectQueries, useValue: new ProjectQueries(parts.readStore) },
  ];
};

@Global()
@Module({})
export class PortsModule {
  static of(parts: Parts, lifecycle: Lifecycle): DynamicModule {
    const providers = ports(parts, lifecycle);
    return { module: PortsModule, providers, exports: providers };
  }
}

@Module({})
export class AppModule {
  static of(parts: Parts, lifecycle: Lifecycle): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PortsModule.of(parts, lifecycle),
        CqrsModule.forRoot(),
        GraphQLModule.forRoot(graphqlOptions(parts.tokens, parts.clock)),
        JobsApiModule,
        NodesApiModule,
        ProjectsApiModule,
      ],
      controllers: [
        HealthController,
        ProblemsController,
        TokensController,
        ProjectionsController,
        EventsController,
        ArtifactsController,
      ],
      providers: [
        { provide: APP_GUARD, useClass: AuthGuard },
        { provide: APP_GUARD, useClass: MinPositionGuard },
        { provide: APP_FILTER, useClass: ProblemFilter },
      ],
    };
  }
}
