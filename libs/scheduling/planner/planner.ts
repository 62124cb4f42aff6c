import type { Plan } from './plan.js';

/** What became of a plan at one planner. A refusal leaves nothing of the plan behind: it is to be made again. */
export type Planned =
  { readonly kind: 'done' } | { readonly kind: 'refused'; readonly by: string; readonly reason: string };

/** Carries out plans, or one side of that. Faults are thrown: how far the plan came is then not known. */
export interface Planner {
  /** For people who read logs. */
  readonly name: string;
  process(plan: Plan): Promise<Planned>;
}

export const DONE: Planned = { kind: 'done' };

/** A planner met a fault; `cause` says which. */
export class PlannerFailed extends Error {
  override readonly name = 'PlannerFailed';

  constructor(
    readonly planner: string,
    override readonly cause: unknown,
  ) {
    super(`planner ${planner} failed: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

/** Each planner in turn, as Bacalhau chains them; the first that refuses or fails is named, and the ones behind it hear nothing. */
export class PlannerChain implements Planner {
  readonly name = 'chain';

  constructor(private readonly planners: readonly Planner[]) {}

  /** The first planner has begun when this returns. */
  async process(plan: Plan): Promise<Planned> {
    for (const planner of this.planners) {
      const planned = await carriedOut(planner, plan);
      if (planned.kind === 'refused') return planned;
    }
    return DONE;
  }
}

const carriedOut = async (planner: Planner, plan: Plan): Promise<Planned> => {
  try {
    return await planner.process(plan);
  } catch (error) {
    throw new PlannerFailed(planner.name, error);
  }
};
