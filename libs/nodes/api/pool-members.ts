import { Inject, Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import { parseConstraint, satisfies } from '#placement';
import type { ClusterNode } from '#placement';
import { doneOrThrow } from '#platform/http';
import { CLOCK } from '#platform/ports';
import { below, didYouMean, fault, refuse, shown } from '#platform/validation';
import type { Checked } from '#platform/validation';
import { ClusterView } from '#scheduling';
import { nodeStream } from '../domain/events.js';
import type { Pool } from '../domain/pool.js';
import { ExecuteNode } from '../write/execute-node.js';
import type { PoolRequest } from './dto/index.js';

/**
 * Which nodes belong to a pool. Each node keeps that itself, so a change is one command a node; what was interrupted goes on when it
 * is asked for again, for nodes that are as they should be record nothing.
 */
@Injectable()
export class PoolMembers {
  constructor(
    private readonly view: ClusterView,
    private readonly commands: CommandBus,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The ids of the nodes that the request means; its mistakes name every node that is not there. */
  async meant(request: PoolRequest): Promise<Checked<readonly string[]>> {
    await this.view.current();
    const nodes = [...this.view.cluster.nodes.values()];
    return 'nodes' in request ? named(nodes, request.nodes) : matching(nodes, request.where);
  }

  /** Makes these nodes, and no others, the pool's. Answers the position of the last event. */
  async set(pool: Pool, nodeIds: readonly string[], actor: string): Promise<bigint | undefined> {
    const leaving = this.of(pool.name).filter((nodeId) => !nodeIds.includes(nodeId));
    const joined = await this.change(nodeIds, pool, actor);
    return (await this.change(leaving, null, actor, pool.name)) ?? joined;
  }

  /** Takes all nodes out of a pool. */
  remove(name: string, actor: string): Promise<bigint | undefined> {
    return this.change(this.of(name), null, actor, name);
  }

  private of(name: string): string[] {
    return [...(this.view.cluster.pools.get(name)?.nodes ?? [])];
  }

  private async change(
    nodeIds: readonly string[],
    pool: Pool | null,
    actor: string,
    from?: string,
  ): Promise<bigint | undefined> {
    let last: bigint | undefined;
    for (const nodeId of nodeIds) {
      const at = toInstant(this.clock.now());
      const command = { type: 'ChangePool', pool, at, ...(from !== undefined && { from }) } as const;
      const { revision, position } = doneOrThrow(
        await this.commands.execute(new ExecuteNode(nodeId, command, { actor })),
      );
      await this.view.reached(nodeStream(nodeId), revision);
      last = last === undefined || position > last ? position : last;
    }
    return last;
  }
}

const named = (nodes: readonly ClusterNode[], names: readonly string[]): Checked<readonly string[]> => {
  const ids = new Map(nodes.flatMap(({ id, name }) => [[name, id] as const, [id, id] as const]));
  const unknown = names.flatMap((name, index) => {
    const words = `is no enrolled node: ${shown(name)}${didYouMean(name, [...ids.keys()])}`;
    return ids.has(name) ? [] : below('nodes', below(index, fault('NOT_ALLOWED', words)));
  });
  return unknown.length > 0
    ? refuse(unknown)
    : { ok: true, value: [...new Set(names.flatMap((name) => ids.get(name) ?? []))] };
};

const matching = (nodes: readonly ClusterNode[], where: string): Checked<readonly string[]> => {
  const parsed = parseConstraint(where);
  if (parsed.kind === 'problem') {
    const words = `is not understood at character ${parsed.position + 1}: ${parsed.message}`;
    return refuse(below('where', fault('MALFORMED', words)));
  }
  const { constraint } = parsed;
  const ids = nodes.filter(({ facts }) => satisfies(constraint, facts.attributes)).map(({ id }) => id);
  return ids.length > 0
    ? { ok: true, value: ids }
    : refuse(below('where', fault('NOT_ALLOWED', 'holds on no enrolled node')));
};
