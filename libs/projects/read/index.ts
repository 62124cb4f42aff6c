import { projectEntity } from './tables.js';

export { ProjectQueries } from './project-queries.js';
export type { ProjectView } from './project-queries.js';
export { projectsProjection } from './projects.projection.js';
export type { ProjectRow } from './tables.js';

/** What a data source must know to answer `ProjectQueries`. */
export const projectEntities = [projectEntity];
