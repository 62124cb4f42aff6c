import { toInstant } from '#kernel';
import type { Clock, Timer, Timers } from '#kernel';
import { isEndless, jobStream } from '#jobs';
import type { JobCommand, JobState } from '#jobs';
import type { ClusterJob } from '#placement';
import type { Commands, SchedulingLog, SchedulingOptions } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';

export interface MissedEndsParts {
  readonly view: ClusterView;
  readonly jobs: Commands<JobCommand, JobState>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  readonly options: Pick<SchedulingOptions, 'sweepInterval'>;
}

const ACTOR = { actor: 'system:sweep' };

/**
 * Ends the jobs of which nothing is left to do.
 *
 * A job's end is stored with the end of its last execution, so there is no such job but by a fault: of a writer that stored
 * one without the other, say. Nothing would ever happen to it. At the start, and then at every `sweepInterval`, all jobs are
 * looked at for that; what cannot be stored is tried again at the next look. Ends with `stop`.
 */
export class MissedEnds {
  private timer: Timer | undefined;

  constructor(private readonly parts: MissedEndsParts) {}

  start(): void {
    this.timer = this.parts.timers.every(this.parts.options.sweepInterval, () => this.look());
    this.look();
  }

  stop(): void {
    this.timer?.cancel();
  }

  private look(): void {
    if (!this.parts.view.ready) return;
    for (const job of this.parts.view.cluster.jobs.values()) if (isOver(job)) void this.end(job.id);
  }

  private async end(jobId: string): Promise<void> {
    const { clock, jobs, log } = this.parts;
    try {
      const command: JobCommand = { type: 'EndIfOver', at: toInstant(clock.now()) };
      const answer = await jobs.handle(jobStream(jobId), command, ACTOR);
      if (answer.kind === 'done' && answer.events > 0)
        log.warn({ jobId }, 'a job was over and had no end, it has one now');
    } catch (error) {
      log.warn({ jobId, err: error }, 'a job that is over was not ended, it is tried again');
    }
  }
}

const isOver = ({ spec, partitions, executions, cancelRequested }: ClusterJob): boolean => {
  if (executions.size > 0) return false;
  if (cancelRequested) return true;
  const open = partitions.some(({ state }) => state === 'waiting' || state === 'live');
  return !isEndless(spec.type) && partitions.length > 0 && !open;
};
