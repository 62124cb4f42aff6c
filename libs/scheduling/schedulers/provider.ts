import type { JobType } from '#jobs';
import type { JobScheduler, SchedulerProvider } from '../worker/job-scheduler.js';
import { PassGate } from './pass-gate.js';
import { PlanningScheduler } from './planning-scheduler.js';
import type { PlanningParts } from './planning-scheduler.js';
import { reconcileBatch } from './reconcile-batch.js';
import { reconcileTargets } from './reconcile-targets.js';

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
  const gate = new PassGate(parts.view);
  const alike = new PlanningScheduler(parts, reconcileBatch, gate);
  const targeted = new PlanningScheduler(parts, reconcileTargets, gate);
  return new JobSchedulers({ batch: alike, service: alike, ops: targeted, daemon: targeted });
};
