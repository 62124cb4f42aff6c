import type { SchedulingObserver } from '../ports.js';
import type { Plan } from './plan.js';
import { isEmpty } from './plan.js';
import { DONE } from './planner.js';
import type { Planned, Planner } from './planner.js';

/** Counts what the plans that were carried out come to. */
export class MetricsPlanner implements Planner {
  readonly name = 'metrics';

  constructor(private readonly observer: SchedulingObserver) {}

  async process(plan: Plan): Promise<Planned> {
    const { placements, deferrals, stops } = plan;
    const counts = { placed: placements.length, deferred: deferrals.length, stopped: stops.length };
    if (!isEmpty(plan)) this.observer.planned?.(counts);
    return DONE;
  }
}
