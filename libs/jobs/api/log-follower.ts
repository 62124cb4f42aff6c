import type { LogStore } from '#artifacts';
import type { Timers } from '#kernel';
import type { ClusterView } from '#scheduling';
import { JOB_STREAM_PREFIX } from '../domain/events.js';
import { isLive } from '../domain/state.js';
import type { JobState } from '../domain/state.js';
import { CHUNK, tailOf } from './log-text.js';

/** A piece of one stream; `offset` and `next` count its bytes. One that is empty says where a stream is taken up. */
export interface LogChunk {
  readonly executionId: string;
  readonly stream: string;
  readonly offset: number;
  readonly next: number;
  readonly text: string;
}

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
  readonly tail: number | undefined;
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
  private readonly offsets = new Map<string, number>();
  private readonly listening = new Map<string, () => void>();
  private stopped = false;
  private woken = false;
  private wake: (() => void) | undefined;

  constructor(private readonly parts: LogFollowerParts) {}

  stop(): void {
    this.stopped = true;
    this.nudge();
  }

  async *chunks(followed: Followed): AsyncGenerator<LogChunk> {
    const stopView = this.parts.view.listen((event) => {
      if (event.stream === JOB_STREAM_PREFIX + this.parts.jobId) this.nudge();
    });
    try {
      for (let last = false; !last && !this.stopped;) {
        this.woken = false;
        const job = await this.parts.load();
        last = isOver(job, followed.execution);
        for (const executionId of this.executionsOf(job, followed)) yield* this.readOn(executionId, followed);
        if (!last) await this.sleep();
      }
    } finally {
      stopView();
      for (const stop of this.listening.values()) stop();
    }
  }

  private executionsOf(job: JobState, { execution }: Followed): string[] {
    const ids = execution === undefined ? Object.keys(job.executions) : [execution];
    for (const [id, stop] of this.listening) {
      if (ids.includes(id)) continue;
      stop();
      this.listening.delete(id);
    }
    for (const id of ids) {
      if (!this.listening.has(id))
        this.listening.set(
          id,
          this.parts.logs.listen(id, () => this.nudge()),
        );
    }
    return ids;
  }

  private async *readOn(executionId: string, { streams, tail }: Followed): AsyncGenerator<LogChunk> {
    for (const stream of streams) {
      const key = `${executionId} ${stream}`;
      const known = this.offsets.get(key);
      let at: number = known ?? (await this.firstOffset(executionId, stream, tail));
      if (known === undefined && at > 0) yield { executionId, stream, offset: at, next: at, text: '' };
      for (;;) {
        const whole = wholeCharacters(await this.parts.logs.read(executionId, stream, at, CHUNK));
        if (whole.length === 0) break;
        yield { executionId, stream, offset: at, next: at + whole.length, text: whole.toString('utf8') };
        at += whole.length;
      }
      this.offsets.set(key, at);
    }
  }

  private async firstOffset(executionId: string, stream: string, tail: number | undefined): Promise<number> {
    return tail === undefined ? 0 : (await tailOf(this.parts.logs, executionId, stream, tail)).offset;
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

/** Cuts before a UTF-8 character whose end has not come yet. */
const wholeCharacters = (bytes: Buffer): Buffer => {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
};
