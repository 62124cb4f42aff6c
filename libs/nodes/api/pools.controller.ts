import { Body, Controller, Delete, Get, Param, Put, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentCaller, ProblemException, Roles, invalid, parsed } from '#platform/http';
import type { Caller } from '#platform/http';
import { identifier } from '#platform/validation';
import { ClusterView } from '#scheduling';
import { parsePool } from './dto/index.js';
import { NodeSight } from './node-sight.js';
import { PoolMembers } from './pool-members.js';
import { poolNamed, poolViews } from './pool-view.js';

/** Named sets of nodes with one queue discipline each. */
@ApiTags('nodes')
@Controller('v1/pools')
export class PoolsController {
  constructor(
    private readonly view: ClusterView,
    private readonly members: PoolMembers,
    private readonly sight: NodeSight,
  ) {}

  @Get()
  @ApiOperation({ summary: 'The pools of the nodes that the caller sees, and who is first in line' })
  list(@CurrentCaller() caller: Caller): unknown {
    return { items: poolViews(this.view.cluster, this.sight.ofPools(caller)), next: null };
  }

  @Get(':name')
  @ApiOperation({ summary: 'One pool; one without a node that the caller sees is as good as absent' })
  one(@Param('name') name: string, @CurrentCaller() caller: Caller): unknown {
    return this.known(name, caller);
  }

  @Put(':name')
  @Roles('operator')
  @ApiOperation({ summary: 'Make these nodes, and no others, a pool with this discipline' })
  async set(
    @Param('name') name: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const [wrong] = identifier(name);
    if (wrong) throw invalid([{ pointer: '', code: 'MALFORMED', message: `the name ${wrong.message}` }]);
    const request = parsed(parsePool(body));
    const nodeIds = parsed(await this.members.meant(request));
    const { discipline } = request;
    at(reply, await this.members.set({ name, discipline }, nodeIds, caller.account));
    return this.shown(name, caller);
  }

  @Delete(':name')
  @Roles('operator')
  @ApiOperation({ summary: 'Take all nodes out of a pool' })
  async remove(
    @Param('name') name: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const pool = this.known(name, caller);
    at(reply, await this.members.remove(name, caller.account));
    return { ...pool, nodes: [], size: 0, waiting: 0, first: null };
  }

  private known(name: string, caller: Caller): object {
    const pool = this.shown(name, caller);
    if (!pool) throw new ProblemException('POOL_UNKNOWN', `there is no pool ${name}`);
    return pool;
  }

  private shown(name: string, caller: Caller): object | undefined {
    return poolNamed(name, this.view.cluster, this.sight.ofPools(caller));
  }
}

const at = (reply: FastifyReply, position: bigint | undefined): void => {
  if (position !== undefined) void reply.header('escalon-position', String(position));
};
