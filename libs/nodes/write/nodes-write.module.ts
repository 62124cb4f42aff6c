import { Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { ExecuteNodeHandler } from './execute-node.js';

@Module({ imports: [CqrsModule], providers: [ExecuteNodeHandler], exports: [CqrsModule] })
export class NodesWriteModule {}
