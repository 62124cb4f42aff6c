import { Module } from '@nestjs/common';
import { ProjectsWriteModule } from '../write/projects-write.module.js';
import { ProjectsController } from './projects.controller.js';

@Module({ imports: [ProjectsWriteModule], controllers: [ProjectsController] })
export class ProjectsApiModule {}
