import { Injectable } from '@nestjs/common';
import type { RecordedEvent } from '#event-store';
import { ClusterView } from '#scheduling';
import { JOB_STREAM_PREFIX } from '../domain/events.js';

/** One movement of a job, as the page is told of it. */
export interface JobChange {
  readonly jobId: string;
  readonly type: string;
  readonly revision: string;
  readonly position: string;
}

/** Most changes kept for a reader that does not keep up; it then gets the newest and reads the job anew. */
const MOST_WAITING = 1_000;

/** Live movements of jobs, in log order, for subscriptions. */
@Injectable()
export class JobChanges {
  private readers = 0;

  constructor(private readonly view: ClusterView) {}

  /** Subscriptions that are open. */
  get open(): number {
    return this.readers;
  }

  /** Changes of one job, or of all that `visible` lets through, until the reader leaves. */
  follow(jobId: string | undefined, visible: (jobId: string) => boolean): AsyncGenerator<JobChange> {
    const left = new AbortController();
    const wanted = (change: JobChange): boolean =>
      (jobId === undefined || change.jobId === jobId) && visible(change.jobId);
    const changes = this.changes(wanted, left.signal);
    const end = changes.return.bind(changes);
    // While it waits for a change it would hear of its end with the next one, which may never come.
    changes.return = (value) => {
      left.abort();
      return end(value);
    };
    return changes;
  }

  private async *changes(wanted: (change: JobChange) => boolean, left: AbortSignal): AsyncGenerator<JobChange> {
    const waiting: JobChange[] = [];
    let wake: (() => void) | undefined;
    left.addEventListener('abort', () => wake?.());
    const stop = this.view.listen((event) => {
      const change = changeOf(event);
      if (!change || !wanted(change)) return;
      waiting.push(change);
      if (waiting.length > MOST_WAITING) waiting.shift();
      wake?.();
    });
    this.readers += 1;
    try {
      while (!left.aborted) {
        const next = waiting.shift();
        if (next) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.readers -= 1;
      stop();
    }
  }
}

const changeOf = ({ stream, type, revision, position }: RecordedEvent): JobChange | undefined => {
  if (!stream.startsWith(JOB_STREAM_PREFIX)) return undefined;
  const jobId = stream.slice(JOB_STREAM_PREFIX.length);
  return { jobId, type, revision: String(revision), position: String(position) };
};
