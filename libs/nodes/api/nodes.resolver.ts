import { Args, ID, Query, Resolver } from '@nestjs/graphql';
import { CurrentCaller, Json, Roles } from '#platform/http';
import type { Caller } from '#platform/http';
import { ClusterView } from '#scheduling';
import { NodeQueries } from '../read/index.js';
import { NodeSight } from './node-sight.js';
import { poolNamed, poolViews } from './pool-view.js';

/** Nodes over GraphQL: the same shapes as REST. */
@Resolver()
@Roles('researcher', 'operator', 'auditor')
export class NodesResolver {
  constructor(
    private readonly queries: NodeQueries,
    private readonly sight: NodeSight,
    private readonly view: ClusterView,
  ) {}

  @Query(() => [Json], { name: 'nodes', description: 'The enrolled nodes that the caller sees' })
  async nodes(@CurrentCaller() caller: Caller): Promise<unknown> {
    const { items } = await this.queries.list({}, this.sight.visibleNodes(caller));
    return items.map((node) => this.sight.shown(caller, node));
  }

  @Query(() => [Json], { name: 'pools', description: 'The pools of the nodes that the caller sees' })
  pools(@CurrentCaller() caller: Caller): unknown {
    return poolViews(this.view.cluster, this.sight.ofPools(caller));
  }

  @Query(() => Json, { name: 'pool', nullable: true, description: 'One pool' })
  pool(@Args('name') name: string, @CurrentCaller() caller: Caller): unknown {
    return poolNamed(name, this.view.cluster, this.sight.ofPools(caller)) ?? null;
  }

  @Query(() => Json, { name: 'node', nullable: true, description: 'One node' })
  async node(@Args('id', { type: () => ID }) id: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    const node = this.sight.sees(caller, id) ? await this.queries.get(id) : undefined;
    return node ? this.sight.shown(caller, node) : null;
  }
}
