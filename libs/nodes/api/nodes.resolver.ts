import { Args, ID, Query, Resolver } from '@nestjs/graphql';
import { Json, Roles } from '#platform/http';
import { NodeQueries } from '../read/index.js';

/** Nodes over GraphQL: the same shapes as REST. */
@Resolver()
@Roles('researcher', 'operator', 'auditor')
export class NodesResolver {
  constructor(private readonly queries: NodeQueries) {}

  @Query(() => [Json], { name: 'nodes', description: 'All enrolled nodes' })
  async nodes(): Promise<unknown> {
    return (await this.queries.list({})).items;
  }

  @Query(() => Json, { name: 'node', nullable: true, description: 'One node' })
  node(@Args('id', { type: () => ID }) id: string): Promise<unknown> {
    return this.queries.get(id);
  }
}
