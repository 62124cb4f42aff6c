import { toMillis } from '#kernel';
import type { Millis, Timers } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { NODE_STREAM_PREFIX } from '#nodes';
import { maintenanceAt, maintenanceState } from '#placement';
import { Deadlines } from './deadlines.js';
import { emptyNode } from './empty-node.js';
import type { EmptyNodeParts } from './empty-node.js';

export interface MaintenanceStartsParts extends EmptyNodeParts {
  readonly timers: Timers;
}

const ACTOR = 'system:maintenance';
/** Until what could not be asked or stored is tried again. */
const AGAIN: Millis = 1_000;

/**
 * Empties a node when a maintenance of its owner's begins.
 *
 * One deadline for each node whose policy has a maintenance that is not over: now while one goes on, else the start of the
 * next. It is set at `start`, when the policy appears or changes in the log, and when something is reserved there. When it rings
 * in a maintenance, each execution still on the node is asked of its job, as at the deadline of a drain; then it is set for the
 * next one. It rings again for what could not be asked. Ends with `stop`.
 */
export class MaintenanceStarts {
  private readonly deadlines: Deadlines;
  private stopListening: (() => void) | undefined;

  constructor(private readonly parts: MaintenanceStartsParts) {
    this.deadlines = new Deadlines(parts.clock, parts.timers, (nodeId) => void this.ring(nodeId));
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
    if (type === 'NodePolicyChanged' || type === 'NodeEnrolled') {
      const nodeId = stream.slice(NODE_STREAM_PREFIX.length);
      this.deadlines.drop(nodeId);
      this.watch(nodeId);
    } else if (type === 'ExecutionReserved') this.watch((data as { readonly nodeId: string }).nodeId);
  }

  private watch(nodeId: string): void {
    const now = this.parts.clock.now();
    if (this.current(nodeId)) this.deadlines.by(nodeId, now);
    else this.watchNext(nodeId);
  }

  private watchNext(nodeId: string): void {
    const list = this.parts.view.cluster.nodes.get(nodeId)?.policy.maintenance;
    const { next } = list ? maintenanceState(list, this.parts.clock.now()) : { next: undefined };
    if (next) this.deadlines.by(nodeId, next.from);
  }

  private current(nodeId: string) {
    const list = this.parts.view.cluster.nodes.get(nodeId)?.policy.maintenance;
    return list && maintenanceAt(list, this.parts.clock.now());
  }

  private async ring(nodeId: string): Promise<void> {
    const { clock, view } = this.parts;
    const current = this.current(nodeId);
    if (!current) {
      this.watchNext(nodeId);
      return;
    }
    if (!view.ready) {
      this.deadlines.by(nodeId, clock.now() + AGAIN);
      return;
    }
    const reason = `node ${nodeId} is under maintenance until ${current.until}: ${current.reason}`;
    const asked = await emptyNode(this.parts, nodeId, { cause: 'maintenance', reason, actor: ACTOR });
    if (!this.stopListening) return;
    if (asked) this.deadlines.by(nodeId, this.nextLook(nodeId, toMillis(current.until)));
    else this.deadlines.by(nodeId, clock.now() + AGAIN);
  }

  /** Of maintenances that overlap the next may begin before this one is over; what it finds then is little. */
  private nextLook(nodeId: string, until: Millis): Millis {
    const list = this.parts.view.cluster.nodes.get(nodeId)?.policy.maintenance ?? [];
    const starts = list.map(({ from }) => toMillis(from)).filter((from) => from > this.parts.clock.now());
    return Math.min(until, ...starts);
  }
}
