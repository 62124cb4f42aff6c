import { upcastRecorded } from '#contracts';
import { PROJECT_STREAM_PREFIX } from '../domain/events.js';
import { projectsTable } from './tables.js';
import type { RecordedEvent } from '#event-store';
import type { Projection, Rows } from '#read-store';
import type { ProjectEvent } from '../domain/events.js';

/** The compiler refuses a type that is missing here. */
const EVENT_TYPES: Readonly<Record<ProjectEvent['type'], true>> = { ProjectConfigured: true };

const project = (recorded: RecordedEvent, rows: Rows): void => {
  const { data } = upcastRecorded(recorded) as ProjectEvent;
  const { projectId: id, at: configuredAt, institution, members, quota, weight } = data;
  rows.put(projectsTable, { id, institution, members, quota, weight, configuredAt });
};

/** Projects as they are configured now. */
export const projectsProjection: Projection = {
  name: 'projects',
  version: 1,
  prefixes: [PROJECT_STREAM_PREFIX],
  eventTypes: new Set(Object.keys(EVENT_TYPES)),
  main: projectsTable,
  tables: [projectsTable],
  keyOf: (stream) => stream.slice(PROJECT_STREAM_PREFIX.length),
  touches: () => [],
  project,
};
