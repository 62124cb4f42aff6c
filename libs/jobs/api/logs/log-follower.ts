import type { LogStore } from '#artifacts';
import type { Timers } from '#kernel';
import type { ClusterView } from '#scheduling';
import { JOB_STREAM_PREFIX } from '../../domain/events.js';
import { isLive } from '../../domain/state.js';
import type { JobState } from '../../domain/state.js';
import { chunksOf } from './log-chunks.js';
import type { LogChunk } from './log-chunks.js';
import { streamKey } from './log-position.js';
import type { LogPosition } from './log-position.js';
import { tailOf } from './log-text.js';
import type { LogPart } from './log-text.js';

export interface LogFollowerParts {
  readonly logs: LogStore;
  readonly view: ClusterView;
  readonly timers: Timers;
  readonly load: () => Promise<JobState>;
  readonly jobId: string;
}

export interface Followed {
  readonly execution: string | undefined;
  readonly streams: readonly string[];
  /** Lines of each stream to begin with, of what is there at first. */
  readonly tail: number | undefined;
  /** Where an earlier answer broke off; then `tail` counts no more. */
  readonly from?: LogPosition;
}

/** Logs come to whichever process the agent spoke to, so what another one took in is looked for now and then. */
const LOOK_INTERVAL = 1_000;

/**
 * A job's logs as they grow.
 *
 * One look after another: every stream of every execution is read on from where it was. Between two looks it sleeps
 * until something is written here, the job moves, or a second has passed. It ends after the first look that began when
 * the job (or the one execution that is followed) had ended, or with `stop`. A job that still waits has no executions,
 * so following it waits for the first.
 */
export class LogFollower {
  private readonly offsets: Map<string, number>;
  private readonly listening = new Map<string, () => void>();
  private stopped = false;
  private woken = false;
  private wake: (() => void) | undefined;

  constructor(
    private readonly parts: LogFollowerParts,
    private readonly followed: Followed,
  ) {
    this.offsets = new Map(followed.from);
  }

  /** Up to where each stream was told, the newest chunk included. */
  get position(): LogPosition {
    return this.offsets;
  }

  stop(): void {
    this.stopped = true;
    this.nudge();
  }

  async *chunks(): AsyncGenerator<LogChunk> {
    const stopView = this.parts.view.listen((event) => {
      if (event.stream === JOB_STREAM_PREFIX + this.parts.jobId) this.nudge();
    });
    try {
      let tail = this.followed.from ? undefined : this.followed.tail;
      for (let last = false; !last && !this.stopped; tail = undefined) {
        this.woken = false;
        const job = await this.parts.load();
        last = isOver(job, this.followed.execution);
        const streams = this.streamsOf(job);
        yield* this.takeUp(streams, tail);
        for (const stream of streams) yield* this.readOn(stream);
        if (!last) await this.sleep();
      }
    } finally {
      stopView();
      for (const stop of this.listening.values()) stop();
    }
  }

  private streamsOf(job: JobState): Omit<LogPart, 'offset'>[] {
    const { execution, streams } = this.followed;
    const ids = execution === undefined ? Object.keys(job.executions) : [execution];
    this.listenTo(ids);
    return ids.flatMap((executionId) => streams.map((stream) => ({ executionId, stream })));
  }

  private listenTo(ids: readonly string[]): void {
    for (const [id, stop] of this.listening) {
      if (ids.includes(id)) continue;
      stop();
      this.listening.delete(id);
    }
    for (const id of ids) {
      if (this.listening.has(id)) continue;
      this.listening.set(
        id,
        this.parts.logs.listen(id, () => this.nudge()),
      );
    }
  }

  /** Finds where those begin that were not known, all of them before the first is told: so each position tells of all. */
  private async *takeUp(streams: readonly Omit<LogPart, 'offset'>[], tail: number | undefined) {
    const begun: LogChunk[] = [];
    for (const { executionId, stream } of streams) {
      const key = streamKey(executionId, stream);
      if (this.offsets.has(key)) continue;
      const offset = tail === undefined ? 0 : (await tailOf(this.parts.logs, executionId, stream, tail)).offset;
      this.offsets.set(key, offset);
      if (offset > 0) begun.push({ executionId, stream, offset, next: offset, text: '' });
    }
    yield* begun;
  }

  private async *readOn({ executionId, stream }: Omit<LogPart, 'offset'>): AsyncGenerator<LogChunk> {
    const key = streamKey(executionId, stream);
    const part = { executionId, stream, offset: this.offsets.get(key) ?? 0 };
    for await (const chunk of chunksOf(this.parts.logs, part)) {
      this.offsets.set(key, chunk.next);
      yield chunk;
    }
  }

  private nudge(): void {
    this.woken = true;
    this.wake?.();
  }

  private async sleep(): Promise<void> {
    if (this.woken || this.stopped) return;
    await new Promise<void>((resolve) => {
      const timer = this.parts.timers.after(LOOK_INTERVAL, resolve);
      this.wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.wake = undefined;
  }
}

const isOver = (job: JobState, execution: string | undefined): boolean => {
  if (execution === undefined) return job.ended !== undefined;
  const one = job.executions[execution];
  // One that its job knows no more ended long ago.
  return one === undefined || !isLive(one);
};
