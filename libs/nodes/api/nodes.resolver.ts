import { Args, ID, Query, Resolver } from '@nestjs/graphql';
import { CurrentCaller, Json, Roles } from '#platform/http';
import type { Caller } from '#platform/http';
import { NodeQueries } from '../read/index.js';
import { NodeSight } from './node-sight.js';

/** Nodes over GraphQL: the same shapes as REST. */
@Resolver()
@Roles('researcher', 'operator', 'auditor')
export class NodesResolver {
  constructor(
    private readonly queries: NodeQueries,
    private readonly sight: NodeSight,
  ) {}

  @Query(() => [Json], { name: 'nodes', description: 'The enrolled nodes that the caller sees' })
  async nodes(@CurrentCaller() caller: Caller): Promise<unknown> {
    const { items } = await this.queries.list({}, this.sight.visibleNodes(caller));
    return items.map((node) => this.sight.shown(caller, node));
  }

  @Query(() => Json, { name: 'node', nullable: true, description: 'One node' })
  async node(@Args('id', { type: () => ID }) id: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    const node = this.sight.sees(caller, id) ? await this.queries.get(id) : undefined;
    return node ? this.sight.shown(caller, node) : null;
  }
}
