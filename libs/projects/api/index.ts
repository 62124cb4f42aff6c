export { parseProjectConfig } from './dto/index.js';
export type { ProjectConfig } from './dto/index.js';
export { ProjectsApiModule } from './projects-api.module.js';
