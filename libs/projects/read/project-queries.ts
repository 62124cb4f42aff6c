import { MoreThan } from 'typeorm';
import { pageLimit, pageOf, readCursor, writeCursor } from '#read-store';
import { projectEntity } from './tables.js';
import type { DataSource } from 'typeorm';
import type { Page, PageRequest, Tracked } from '#read-store';
import type { ProjectRow } from './tables.js';

export type ProjectView = ProjectRow & Tracked;

/** Reads the projects' table. */
export class ProjectQueries {
  constructor(private readonly source: DataSource) {}

  /** By id. Throws `InvalidCursor`. */
  async list({ limit, cursor }: PageRequest = {}): Promise<Page<ProjectView>> {
    const size = pageLimit(limit ?? 200);
    const after = readCursor(cursor, {}, 1)?.[0];
    const rows = await this.source.getRepository(projectEntity).find({
      where: after === undefined ? {} : { id: MoreThan(after) },
      order: { id: 'ASC' },
      take: size + 1,
    });
    return pageOf(rows, size, ({ id }) => writeCursor([id], {}));
  }

  async get(projectId: string): Promise<ProjectView | undefined> {
    return (await this.source.getRepository(projectEntity).findOne({ where: { id: projectId } })) ?? undefined;
  }
}
