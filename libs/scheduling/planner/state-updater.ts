import { toInstant } from '#kernel';
import { jobStream } from '#jobs';
import type { JobCommand, JobState } from '#jobs';
import type { Commands } from '../ports.js';
import { Claims } from './claims.js';
import type { ClaimsParts, RefusedClaim } from './claims.js';
import { isEmpty } from './plan.js';
import type { Plan } from './plan.js';
import { DONE } from './planner.js';
import type { Planned, Planner } from './planner.js';

export interface StateUpdaterParts extends ClaimsParts {
  readonly jobs: Commands<JobCommand, JobState>;
}

const ACTOR = { actor: 'system:scheduler' };

/**
 * Carries a plan out: nodes first, job second. Its claims are sent to the ledgers and taken for granted before this first
 * waits, so that the next choice sees them. Held all, they are recorded with the decisions, the stops and the job's end in
 * one append at the revision that the pass read. Whatever is refused refuses the whole plan, and every claim is given back.
 *
 * Should the process end in between, the ledgers hold claims of which the job knows nothing: the releaser fences them off
 * when they have run out, and the job waits as before.
 */
export class StateUpdater implements Planner {
  readonly name = 'state-updater';

  constructor(private readonly parts: StateUpdaterParts) {}

  /** The view has seen what was stored, or what came first, when the answer is there. */
  async process(plan: Plan): Promise<Planned> {
    const assumedTrue = this.parts.assumptions.cameTrue(plan.assumed);
    const claims = new Claims(this.parts, plan);
    const [refused] = await claims.refused();
    if (refused) return this.refusedBy(refused, plan);
    const reason = (await assumedTrue) ? await this.record(plan) : 'a reservation that it took for granted failed';
    if (reason === undefined) return DONE;
    await claims.giveBackAll();
    return this.refusal(reason);
  }

  /** Why it was not recorded; undefined when it was. */
  private async record(plan: Plan): Promise<string | undefined> {
    if (isEmpty(plan)) return undefined;
    const { jobs, observer, view } = this.parts;
    const { jobId, placements, deferrals, targets, stops, end, at } = plan;
    const optional = { ...(targets && { targets }), ...(end && { end }) };
    const command: JobCommand = { type: 'RecordPlan', placements, deferrals, stops, ...optional, at };
    const context = { ...ACTOR, correlationId: plan.evaluationId, expected: plan.revision };
    const answer = await jobs.handle(jobStream(jobId), command, context);
    const revision = answer.kind === 'revision-mismatch' ? answer.actual : answer.revision;
    if (typeof revision === 'bigint') await view.reached(jobStream(jobId), revision);
    if (answer.kind === 'done') return undefined;
    observer.conflict?.('job');
    return answer.kind === 'rejected' ? answer.rejection.message : 'the job has moved on';
  }

  private async refusedBy({ placement, reason, lasting }: RefusedClaim, { jobId }: Plan): Promise<Planned> {
    const { nodeId, decision } = placement;
    const message = `the ledger of ${nodeId} refused the reservation: ${reason}`;
    if (lasting) await this.leaveOut(jobId, nodeId, decision.partition, message);
    return this.refusal(message);
  }

  /** A refusal of what both knew would come again for ever. */
  private async leaveOut(jobId: string, nodeId: string, partition: number, reason: string): Promise<void> {
    const { clock, jobs, log, view } = this.parts;
    log.error({ jobId, nodeId, reason }, 'a ledger refused what the view of the same revision let in');
    const command: JobCommand = { type: 'LeaveOutNode', partition, nodeId, reason, at: toInstant(clock.now()) };
    const left = await jobs.handle(jobStream(jobId), command, ACTOR);
    if (left.kind === 'done') await view.reached(jobStream(jobId), left.revision);
  }

  private refusal(reason: string): Planned {
    return { kind: 'refused', by: this.name, reason };
  }
}
