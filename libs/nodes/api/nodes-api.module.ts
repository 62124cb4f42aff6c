import { Module } from '@nestjs/common';
import { NodesWriteModule } from '../write/nodes-write.module.js';
import { AgentController } from './agent.controller.js';
import { NodeSight } from './node-sight.js';
import { NodesController } from './nodes.controller.js';
import { NodesResolver } from './nodes.resolver.js';
import { NodePresence } from './presence.js';

@Module({
  imports: [NodesWriteModule],
  controllers: [AgentController, NodesController],
  providers: [NodePresence, NodeSight, NodesResolver],
  exports: [NodePresence],
})
export class NodesApiModule {}
