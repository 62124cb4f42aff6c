import { Inject, Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import { CLOCK } from '#platform/ports';
import { ClusterView } from '#scheduling';
import type { NodeCommand } from '../domain/commands.js';
import { latencyClassOf } from '../domain/latency.js';
import { ExecuteNode } from '../write/execute-node.js';

/** Where it is kept when a node was last heard of. */
export const PRESENCE_SINK = Symbol('PresenceSink');
export interface PresenceSink {
  /** Must not wait for a database: many nodes speak many times a second. */
  seen(nodeId: string, at: number, payload?: object): void;
}

/** Every message of a node counts as a sign of life, and the first one after a silence brings it back. */
@Injectable()
export class NodePresence {
  private readonly returning = new Set<string>();

  constructor(
    private readonly view: ClusterView,
    private readonly commands: CommandBus,
    @Inject(PRESENCE_SINK) private readonly sink: PresenceSink,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async seen(nodeId: string, payload?: object): Promise<void> {
    const now = this.clock.now();
    this.sink.seen(nodeId, now, payload);
    if (this.view.cluster.nodes.get(nodeId)?.online !== false || this.returning.has(nodeId)) return;
    this.returning.add(nodeId);
    try {
      await this.execute(nodeId, { type: 'MarkOnline', at: toInstant(now) });
    } finally {
      this.returning.delete(nodeId);
    }
  }

  /** `roundTrip` in seconds. Asks the node's stream only when the view tells another class. */
  async measured(nodeId: string, roundTrip: number): Promise<void> {
    const known = this.view.cluster.nodes.get(nodeId)?.latencyClass;
    if (latencyClassOf(roundTrip, known) === known) return;
    await this.execute(nodeId, { type: 'ReportLatency', roundTrip, at: toInstant(this.clock.now()) });
  }

  private execute(nodeId: string, command: NodeCommand): Promise<unknown> {
    return this.commands.execute(new ExecuteNode(nodeId, command, { actor: `node:${nodeId}` }));
  }
}
