import type { SchedulingLog } from '../ports.js';
import { isEmpty } from './plan.js';
import type { Plan } from './plan.js';
import { DONE } from './planner.js';
import type { Planned, Planner } from './planner.js';

/** A line for each plan that was carried out. */
export class LoggingPlanner implements Planner {
  readonly name = 'logging';

  constructor(private readonly log: SchedulingLog) {}

  async process(plan: Plan): Promise<Planned> {
    if (!isEmpty(plan)) this.log.debug(lineOf(plan), 'plan recorded');
    return DONE;
  }
}

const lineOf = ({ jobId, evaluationId, placements, deferrals, targets, stops, end, followUp }: Plan): object => ({
  jobId,
  evaluationId,
  placed: placements.map(({ nodeId }) => nodeId),
  deferred: deferrals.length,
  ...(targets && { added: targets.added, removed: targets.removed }),
  stopped: stops.map(({ executionId }) => executionId),
  ...(end && { end: end.code }),
  followUp: followUp.kind,
});
