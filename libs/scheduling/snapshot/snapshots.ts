import { EventStoreUnavailable } from '#event-store';
import type { EventStore } from '#event-store';
import type { Millis, Timers } from '#kernel';
import type { ClusterState } from '#placement';
import type { SchedulingLog } from '../ports.js';
import { decodeSnapshot, encodeSnapshot } from './format.js';
import type { Follower, LastEvent, Snapshot } from './format.js';
import type { SnapshotStore } from './store.js';

export interface SnapshotsParts {
  readonly store: SnapshotStore;
  readonly events: EventStore;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  /** Events from one snapshot to the next, at least 1. */
  readonly every: number;
  /** Characters that are written at once. */
  readonly pieceSize?: number;
}

/** A snapshot on its way. */
interface Saving {
  /** Resolves when the state is written down, or its writing given up: it may change again. */
  readonly taken: Promise<unknown>;
  /** Resolves when the snapshot is stored, or is known not to be. */
  readonly over: Promise<void>;
}

/** The state stands still no longer than this, however slow the disk is. */
const LONGEST_PAUSE: Millis = 10_000;
const RETRY_AFTER: Millis = 1_000;

/**
 * Keeps snapshots of what is folded from the log, and finds the newest that can be used. Nothing that goes wrong with one
 * is more than a warning: the log is read from an earlier point then.
 */
export class Snapshots {
  private counted = 0;

  constructor(private readonly parts: SnapshotsParts) {}

  /**
   * The newest snapshot that is whole, of this fold, and of this log. Those that are not are dropped. While the event store
   * is away it is asked again, until `isStopped`.
   */
  async restore(isStopped: () => boolean): Promise<Snapshot | undefined> {
    const { store, log } = this.parts;
    for (const name of await this.names()) {
      try {
        const snapshot = await decodeSnapshot(store.read(name));
        if (isStopped()) return undefined;
        await this.prove(snapshot.last, isStopped);
        log.info({ snapshot: name, counts: counts(snapshot.cluster) }, 'the cluster begins from a snapshot');
        return snapshot;
      } catch (error) {
        if (isStopped()) return undefined;
        log.warn({ snapshot: name, reason: messageOf(error) }, 'a snapshot cannot be used and is dropped');
        await store.drop(name).catch((fault: unknown) => log.warn({ snapshot: name, err: fault }, 'it is still there'));
      }
    }
    return undefined;
  }

  /** Counts an event that was applied; true when a snapshot is due. */
  count(): boolean {
    this.counted += 1;
    return this.counted >= this.parts.every;
  }

  /** Whether anything was counted since the last snapshot. */
  get outdated(): boolean {
    return this.counted > 0;
  }

  /** Begins to write down a state that stands still until `taken`. */
  save(last: LastEvent, cluster: ClusterState, followers: Iterable<Follower>): Saving {
    this.counted = 0;
    const { store, timers, log, pieceSize } = this.parts;
    const { promise: taken, resolve } = Promise.withResolvers<undefined>();
    const pause = { over: false };
    const end = (): void => {
      pause.over = true;
      resolve(undefined);
    };
    const timer = timers.after(LONGEST_PAUSE, end);
    const pieces = untilOver(encodeSnapshot(last, cluster, followers, pieceSize), pause, end);
    const over = store
      .write(last.position, pieces)
      .catch((error: unknown) => log.warn({ err: error }, 'a snapshot of the cluster was not stored'))
      .finally(() => {
        timer.cancel();
        end();
      });
    return { taken, over };
  }

  private async names(): Promise<readonly string[]> {
    try {
      return await this.parts.store.names();
    } catch (error) {
      this.parts.log.warn({ err: error }, 'snapshots cannot be listed, the log is read from its start');
      return [];
    }
  }

  /** An older store that took the place of this one has no such event, or another in its place. */
  private async prove({ stream, revision, position, id }: LastEvent, isStopped: () => boolean): Promise<void> {
    while (!isStopped()) {
      try {
        for await (const event of this.parts.events.readStream(stream, { from: revision, limit: 1 })) {
          if (event.id === id && event.position === position) return;
        }
        throw new Error(`it ends with event ${String(revision)} of ${stream}, which the event store does not have`);
      } catch (error) {
        if (!(error instanceof EventStoreUnavailable)) throw error;
        await new Promise<void>((resolve) => void this.parts.timers.after(RETRY_AFTER, resolve));
      }
    }
  }
}

/** Fails once the state may have changed; tells when the last piece was made. */
function* untilOver(
  pieces: Iterable<string>,
  pause: { readonly over: boolean },
  end: () => void,
): Generator<string, void> {
  for (const piece of pieces) {
    yield piece;
    if (pause.over) throw new Error(`it took longer than ${LONGEST_PAUSE} ms to write it down`);
  }
  end();
}

const counts = ({ nodes, jobs, ended }: ClusterState) => ({ nodes: nodes.size, jobs: jobs.size, ended: ended.size });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
