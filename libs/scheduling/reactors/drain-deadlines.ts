import { toMillis } from '#kernel';
import type { Millis, Timers } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { NODE_STREAM_PREFIX } from '#nodes';
import { Deadlines } from './deadlines.js';
import { emptyNode } from './empty-node.js';
import type { EmptyNodeParts } from './empty-node.js';

export interface DrainDeadlinesParts extends EmptyNodeParts {
  readonly timers: Timers;
}

const ACTOR = 'system:drains';
/** Until what could not be asked or stored is tried again. */
const AGAIN: Millis = 1_000;

/**
 * Empties a node whose drain has a deadline, when that has come.
 *
 * One deadline for each node that is drained with one: set when the drain appears in the log, or at `start` for those found
 * there; another drain moves it, and it is gone when the node takes work again. When it rings, each execution still on the
 * node is asked of its job, which tells the node to stop it and lets it go elsewhere. It rings again for what could not be
 * asked, and for a reservation that was under way and appears after the deadline. Ends with `stop`.
 */
export class DrainDeadlines {
  private readonly deadlines: Deadlines;
  private stopListening: (() => void) | undefined;

  constructor(private readonly parts: DrainDeadlinesParts) {
    this.deadlines = new Deadlines(parts.clock, parts.timers, (nodeId) => void this.empty(nodeId));
  }

  start(): void {
    const { view } = this.parts;
    this.stopListening = view.listen((event) => this.hear(event));
    for (const nodeId of view.cluster.nodes.keys()) this.watch(nodeId);
  }

  stop(): void {
    this.stopListening?.();
    this.stopListening = undefined;
    this.deadlines.dropAll();
  }

  private hear({ type, stream, data }: RecordedEvent): void {
    if (type === 'NodeDrainStarted' || type === 'NodeUncordoned') {
      const nodeId = stream.slice(NODE_STREAM_PREFIX.length);
      this.deadlines.drop(nodeId);
      this.watch(nodeId);
    } else if (type === 'ExecutionReserved') this.watch((data as { readonly nodeId: string }).nodeId);
  }

  private watch(nodeId: string): void {
    const due = this.dueOf(nodeId);
    if (due !== undefined) this.deadlines.by(nodeId, due);
  }

  private dueOf(nodeId: string): Millis | undefined {
    const deadline = this.parts.view.cluster.nodes.get(nodeId)?.drain?.deadline;
    return deadline === undefined ? undefined : toMillis(deadline);
  }

  private async empty(nodeId: string): Promise<void> {
    const { clock, view } = this.parts;
    const due = this.dueOf(nodeId);
    if (due === undefined) return;
    const now = clock.now();
    if (now < due || !view.ready) {
      this.deadlines.by(nodeId, now < due ? due : now + AGAIN);
      return;
    }
    const drain = view.cluster.nodes.get(nodeId)?.drain;
    const reason = `node ${nodeId} is drained: ${drain?.reason ?? 'no reason given'}`;
    const asked = await emptyNode(this.parts, nodeId, { cause: 'node-drained', reason, actor: ACTOR });
    if (!asked && this.stopListening) this.deadlines.by(nodeId, clock.now() + AGAIN);
  }
}
