import { toMillis } from '#kernel';
import type { Instant, Millis } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { JOB_STREAM_PREFIX } from '#jobs';
import type { JobEvent, JobRequeued, PlacementDecided, TargetsChanged } from '#jobs';
import type { SchedulingObserver } from '../ports.js';
import type { ClusterView } from './cluster-view.js';

type RunResult = Parameters<NonNullable<SchedulingObserver['ran']>>[0];

/** Since when a job's parts wait: of each that did not enter the queue with its job, its own moment. */
interface Queued {
  entered: Millis;
  readonly parts: Map<number, Millis>;
}

/**
 * Measures from the log how long parts of jobs wait in the queue and how long tries run, and counts the nodes that decisions
 * ruled out by the reason of each.
 *
 * It looks at what is under way at `start`, then hears each event once, until `stop`. Of several processes the one that
 * schedules runs it, so that their sums count nothing twice.
 */
export class JobSpans {
  private readonly queued = new Map<string, Queued>();
  private readonly started = new Map<string, Millis>();
  private stopListening: (() => void) | undefined;

  constructor(private readonly parts: { readonly view: ClusterView; readonly observer: SchedulingObserver }) {}

  start(): void {
    const { view } = this.parts;
    this.stopListening = view.listen((event) => this.hear(event));
    for (const job of view.cluster.jobs.values()) {
      const parts = job.partitions.flatMap(({ notBefore }, index) =>
        notBefore === undefined ? [] : [[index, toMillis(notBefore)] as const],
      );
      this.queued.set(job.id, { entered: toMillis(job.queuedAt), parts: new Map(parts) });
    }
    for (const executions of view.cluster.live.values()) {
      for (const { executionId, startedAt } of executions.values()) this.runs(executionId, startedAt);
    }
  }

  stop(): void {
    this.stopListening?.();
    this.queued.clear();
    this.started.clear();
  }

  private hear({ stream, type, data }: RecordedEvent): void {
    if (!stream.startsWith(JOB_STREAM_PREFIX)) return;
    const jobId = stream.slice(JOB_STREAM_PREFIX.length);
    const event = { type, data } as JobEvent;
    switch (event.type) {
      case 'JobSubmitted':
        this.queued.set(jobId, { entered: toMillis(event.data.at), parts: new Map() });
        return;
      case 'DependenciesMet':
      case 'JobResumed':
        return this.entersAgain(jobId, event.data.at);
      case 'JobRequeued':
        return this.waitsAgain(jobId, event.data);
      case 'TargetsChanged':
        return this.findsNodes(jobId, event.data);
      case 'PlacementDecided':
        return this.count(event.data);
      case 'ExecutionReserved':
        return this.finds(jobId, event.data.partition, event.data.at);
      case 'JobCompleted':
      case 'JobFailed':
      case 'JobCancelled':
        this.queued.delete(jobId);
        return;
      default:
        this.hearRun(event);
    }
  }

  private hearRun(event: JobEvent): void {
    switch (event.type) {
      case 'ExecutionStarted':
        return this.runs(event.data.executionId, event.data.at);
      case 'ExecutionSucceeded':
        return this.ends(event.data, 'succeeded');
      case 'ExecutionFailed':
        return this.ends(event.data, event.data.class === 'timeout' ? 'timeout' : 'failed');
      case 'ExecutionLost':
        return this.ends(event.data, 'lost');
      case 'ExecutionCancelled':
        return this.ends(event.data, 'cancelled');
      default:
    }
  }

  private entersAgain(jobId: string, at: Instant): void {
    const job = this.queued.get(jobId);
    if (job) job.entered = toMillis(at);
  }

  private waitsAgain(jobId: string, { partition, notBefore }: JobRequeued['data']): void {
    this.queued.get(jobId)?.parts.set(partition, toMillis(notBefore));
  }

  private findsNodes(jobId: string, { added, at }: TargetsChanged['data']): void {
    for (const { partition } of added) this.queued.get(jobId)?.parts.set(partition, toMillis(at));
  }

  /** Clocks of several processes may disagree; nothing waits for less than no time. */
  private finds(jobId: string, partition: number, at: Instant): void {
    const job = this.queued.get(jobId);
    if (!job) return;
    const since = Math.max(job.entered, job.parts.get(partition) ?? -Infinity);
    this.parts.observer.waited?.(Math.max(0, toMillis(at) - since));
  }

  private count({ filtered }: PlacementDecided['data']): void {
    for (const { reason, nodes } of filtered) if (nodes > 0) this.parts.observer.filtered?.(reason, nodes);
  }

  private runs(executionId: string, at: Instant | undefined): void {
    if (at !== undefined) this.started.set(executionId, toMillis(at));
  }

  private ends({ executionId, at }: { readonly executionId: string; readonly at: Instant }, result: RunResult): void {
    const since = this.started.get(executionId);
    this.started.delete(executionId);
    if (since !== undefined) this.parts.observer.ran?.(result, Math.max(0, toMillis(at) - since));
  }
}
