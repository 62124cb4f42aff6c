import { Module } from '@nestjs/common';
import { NodesWriteModule } from '../write/nodes-write.module.js';
import { AgentController } from './agent.controller.js';
import { NodeSight } from './node-sight.js';
import { NodesController } from './nodes.controller.js';
import { NodesResolver } from './nodes.resolver.js';
import { PoolMembers } from './pool-members.js';
import { PoolsController } from './pools.controller.js';
import { NodePresence } from './presence.js';

@Module({
  imports: [NodesWriteModule],
  controllers: [AgentController, NodesController, PoolsController],
  providers: [NodePresence, NodeSight, NodesResolver, PoolMembers],
  exports: [NodePresence],
})
export class NodesApiModule {}
