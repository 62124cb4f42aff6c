import { Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { ExecuteJobHandler } from './execute-job.js';

@Module({ imports: [CqrsModule], providers: [ExecuteJobHandler], exports: [CqrsModule] })
export class JobsWriteModule {}
