import { double, entityOf, instant, json, text } from '#read-store';
import type { Instant } from '#kernel';
import type { KeyedTable } from '#read-store';
import type { Quota } from '../domain/events.js';

export interface ProjectRow {
  readonly id: string;
  readonly institution: string;
  readonly members: readonly string[];
  readonly quota: Quota;
  readonly weight: number;
  readonly configuredAt: Instant;
}

export const projectsTable: KeyedTable<ProjectRow> = {
  kind: 'keyed',
  name: 'projects',
  key: 'id',
  tracked: true,
  columns: { id: text, institution: text, members: json, quota: json, weight: double, configuredAt: instant },
  indexes: [],
};

export const projectEntity = entityOf(projectsTable);
