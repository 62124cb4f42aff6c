import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import type { Handled } from '#event-store';
import type { PlannedPlacement } from '#jobs';
import { nodeStream } from '#nodes';
import type { NodeCommand, NodeState } from '#nodes';
import type { Commands, SchedulingLog, SchedulingObserver } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';
import type { Assumptions } from './assumptions.js';
import type { Plan } from './plan.js';

export interface ClaimsParts {
  readonly view: ClusterView;
  readonly assumptions: Assumptions;
  readonly nodes: Commands<NodeCommand, NodeState>;
  readonly clock: Clock;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
}

/** A claim that its node's ledger did not take. */
export interface RefusedClaim {
  readonly placement: PlannedPlacement;
  readonly reason: string;
  /** The ledger refused what it lets in by all that the pass knew of it: it would do so for ever. */
  readonly lasting: boolean;
}

type Answer = Handled<NodeState> | { readonly kind: 'fault'; readonly error: unknown };

interface Claim {
  readonly placement: PlannedPlacement;
  /** The node's revision that the pass saw. */
  readonly seen: bigint;
  readonly answer: Promise<Answer>;
}

type Answered = Omit<Claim, 'answer'> & { readonly answer: Answer };

const ACTOR = { actor: 'system:scheduler' };

/** The claims of a plan's placements in the ledgers of their nodes: all of them or, in the end, none. */
export class Claims {
  private readonly claims: readonly Claim[];

  /** Sends them side by side, those for one node in their order, and takes them for granted from now on. */
  constructor(
    private readonly parts: ClaimsParts,
    plan: Plan,
  ) {
    this.claims = plan.placements.map((placement) => this.claim(plan, placement));
  }

  /** The claims that were refused: the others are then given back. Throws what kept a ledger from being asked. */
  async refused(): Promise<readonly RefusedClaim[]> {
    const all = await Promise.all(this.claims.map(async (claim) => ({ ...claim, answer: await claim.answer })));
    const held = all.filter(isHeld);
    if (held.length === all.length) return [];
    for (const { answer } of all) {
      if (answer.kind !== 'fault') continue;
      await this.giveBackIfPossible(held);
      throw answer.error;
    }
    await this.giveBack(held);
    const refusals = all.flatMap((one, index) => (isHeld(one) ? [] : [this.refusal(one, all.slice(0, index))]));
    return Promise.all(refusals);
  }

  /** Of claims that are all held. */
  giveBackAll(): Promise<void> {
    return this.giveBack(this.claims);
  }

  private claim({ jobId, project, at }: Plan, placement: PlannedPlacement): Claim {
    const { assumptions, nodes, view } = this.parts;
    const { executionId, nodeId, contract, confirmBy } = placement;
    const claimed = { executionId, jobId, project, contract };
    const command: NodeCommand = { type: 'ReserveCapacity', ...claimed, expiresAt: confirmBy, at };
    const seen = view.cluster.nodes.get(nodeId)?.revision ?? -1n;
    const answer = nodes
      .handle(nodeStream(nodeId), command, ACTOR)
      .catch((error: unknown): Answer => ({ kind: 'fault', error }));
    const held = answer.then(({ kind }) => kind === 'done');
    assumptions.add({ ...claimed, nodeId }, held);
    return { placement, seen, answer };
  }

  /** Mostly the ledger knew more than the view, which has caught up when this returns. */
  private async refusal({ placement, seen, answer }: Answered, before: readonly Answered[]): Promise<RefusedClaim> {
    this.parts.observer.conflict?.('node');
    if (answer.kind !== 'rejected') return { placement, reason: answer.kind, lasting: false };
    // The plan's own claims on the node came first, and the pass knew of them.
    const own = before.filter((one) => one.placement.nodeId === placement.nodeId && isHeld(one)).length;
    const revision = answer.revision ?? -1n;
    const lasting = revision - BigInt(own) <= seen;
    if (!lasting) await this.parts.view.reached(nodeStream(placement.nodeId), revision);
    return { placement, reason: answer.rejection.message, lasting };
  }

  /** The view has seen it when this returns: what is free again does not look taken to the next pass. */
  private async giveBack(claims: readonly Pick<Claim, 'placement'>[]): Promise<void> {
    await Promise.all(
      claims.map(async ({ placement }) => {
        const answer = await this.release(placement);
        if (answer.kind === 'done') await this.parts.view.reached(nodeStream(placement.nodeId), answer.revision);
      }),
    );
  }

  /** What cannot be given back now is by the releaser, when its time is over. */
  private async giveBackIfPossible(claims: readonly Pick<Claim, 'placement'>[]): Promise<void> {
    await Promise.all(
      claims.map(async ({ placement }) => {
        try {
          await this.release(placement);
        } catch (error) {
          const { executionId, nodeId } = placement;
          this.parts.log.warn({ executionId, nodeId, err: error }, 'a claim was not given back, it runs out');
        }
      }),
    );
  }

  private release({ executionId, nodeId }: PlannedPlacement): Promise<Handled<NodeState>> {
    const at = toInstant(this.parts.clock.now());
    const command: NodeCommand = { type: 'ReleaseCapacity', executionId, cause: 'superseded', at };
    return this.parts.nodes.handle(nodeStream(nodeId), command, ACTOR);
  }
}

const isHeld = ({ answer }: Answered): boolean => answer.kind === 'done';
