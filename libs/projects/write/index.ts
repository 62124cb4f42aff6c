export { ExecuteProject, PROJECT_COMMANDS } from './execute-project.js';
export type { ProjectCommands } from './execute-project.js';
export { ProjectsWriteModule } from './projects-write.module.js';
