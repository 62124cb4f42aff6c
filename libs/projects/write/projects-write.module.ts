import { Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { ExecuteProjectHandler } from './execute-project.js';

@Module({ imports: [CqrsModule], providers: [ExecuteProjectHandler], exports: [CqrsModule] })
export class ProjectsWriteModule {}
