import { CheckpointMoved, readCheckpoint, recordFailure } from './checkpoints.js';
import { isRefusal } from './database.js';
import { PoisonEvent, concerns } from './projection.js';
import { ProjectionWriter } from './writer.js';
import type { Pool } from 'pg';
import type { Clock, Millis } from '#kernel';
import type { Position, RecordedEvent } from '#event-store';
import type { Checkpoint } from './checkpoints.js';
import type { Delivery } from './inbox.js';
import type { Projection } from './projection.js';
import type { WriterOptions } from './writer.js';

/** A checkpoint that moved without rows is stored at most this often. */
const QUIET_INTERVAL: Millis = 1000;
/** A batch that the server refuses is tried this often, for a refusal may come from a change under way. */
const TRIES = 3;

/**
 * One projection of a session. Modes: *running*, until an event or a batch defeats it; *failed*, which lasts until the
 * session ends or the tables are rebuilt: its checkpoint stays, the other projections go on.
 */
export class LiveProjection {
  private readonly writer: ProjectionWriter;
  private seen: Position;
  private storedAt: Millis;
  private fault: Error | undefined;

  constructor(
    private readonly pool: Pool,
    readonly projection: Projection,
    checkpoint: Checkpoint,
    private readonly clock: Clock,
    options: WriterOptions,
  ) {
    this.writer = new ProjectionWriter(pool, projection, checkpoint, options);
    this.seen = checkpoint.position;
    this.storedAt = clock.now();
  }

  get name(): string {
    return this.projection.name;
  }

  /** Everything up to here is in the tables. */
  get position(): Position {
    return this.seen;
  }

  get failure(): Error | undefined {
    return this.fault;
  }

  get generation(): number {
    return this.writer.checkpoint.generation;
  }

  /** Whether the stored checkpoint is behind what was seen. */
  get unstored(): boolean {
    return !this.fault && this.seen > this.writer.checkpoint.position;
  }

  /** Applies what is new. Throws only what may pass by itself; the session then starts over from what is stored. */
  async deliver({ events, upTo }: Delivery): Promise<void> {
    if (this.fault || upTo <= this.seen) return;
    const mine = events.filter(({ stream, position }) => position > this.seen && concerns(this.projection, stream));
    if (mine.length > 0) await this.commit(mine, upTo);
    else if (this.clock.now() - this.storedAt >= QUIET_INTERVAL) await this.commit([], upTo);
    else this.seen = upTo;
  }

  /** Stores a checkpoint that moved without rows. */
  async flush(): Promise<void> {
    if (this.unstored) await this.commit([], this.seen);
  }

  private async commit(events: readonly RecordedEvent[], upTo: Position): Promise<void> {
    for (let attempt = 1; !this.fault; attempt += 1) {
      try {
        await this.writer.commit(events, upTo);
        this.seen = upTo;
        this.storedAt = this.clock.now();
        return;
      } catch (error) {
        if (error instanceof CheckpointMoved) await this.catchUpWithRebuild(error);
        else if (error instanceof PoisonEvent) await this.stopBefore(error, events);
        else if (!isRefusal(error)) throw error;
        else if (attempt >= TRIES) await this.fail(error as Error);
      }
    }
  }

  /** A rebuild that switched leaves the checkpoint where it was: go on with the new tables. Else the session is not alone. */
  private async catchUpWithRebuild(moved: CheckpointMoved): Promise<void> {
    const known = this.writer.checkpoint;
    const stored = await readCheckpoint(this.pool, this.name);
    const switched = stored && stored.generation > known.generation && stored.version === this.projection.version;
    if (!switched || stored.position !== known.position) throw moved;
    this.writer.adopt(stored);
  }

  private async stopBefore(poison: PoisonEvent, events: readonly RecordedEvent[]): Promise<void> {
    const before = events.filter(({ position }) => position < poison.event.position);
    const last = before.at(-1);
    if (last) {
      await this.writer.commit(before, last.position);
      this.seen = last.position;
    }
    await this.fail(poison);
  }

  private async fail(error: Error): Promise<void> {
    this.fault = error;
    await recordFailure(this.pool, this.name, error.message);
  }
}
