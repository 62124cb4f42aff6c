import type { JobType } from '#jobs';
import type { JobScheduler, SchedulerProvider } from '../worker/job-scheduler.js';
import { PlanningScheduler } from './planning-scheduler.js';
import type { PlanningParts } from './planning-scheduler.js';
import { reconcileBatch } from './reconcile-batch.js';

/** One scheduler for each type of job that is given. */
export class JobSchedulers implements SchedulerProvider {
  constructor(private readonly schedulers: Readonly<Partial<Record<JobType, JobScheduler>>>) {}

  get types(): readonly string[] {
    return Object.keys(this.schedulers);
  }

  schedulerFor(type: string): JobScheduler {
    const found = new Map<string, JobScheduler>(Object.entries(this.schedulers)).get(type);
    if (found) return found;
    throw new Error(`there is no scheduler for jobs of type "${type}"; there are ${this.types.join(', ')}`);
  }
}

/** A scheduler for each type of job that there is. */
export const schedulersOfTypes = (parts: PlanningParts): JobSchedulers => {
  const batch = new PlanningScheduler(parts, reconcileBatch);
  return new JobSchedulers({ batch, ops: batch, service: batch, daemon: batch });
};
