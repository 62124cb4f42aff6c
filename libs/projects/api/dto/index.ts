export { parseProjectConfig } from './project.dto.js';
export type { ProjectConfig } from './project.dto.js';
