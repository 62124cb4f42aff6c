import { assume, unassume } from '#placement';
import type { ClusterState, AssumedReservation } from '#placement';

/**
 * Reservations that were sent to a node's ledger and are not seen in the log yet. Decisions made meanwhile count them as
 * taken; each of those names them, and is stored only when every one of them has come true.
 */
export class Assumptions {
  private readonly open = new Map<string, Promise<boolean>>();

  /** `failed` hears on which node there is room again because a reservation came to nothing. */
  constructor(
    private readonly view: { readonly cluster: ClusterState },
    private readonly failed: (nodeId: string) => void = () => undefined,
  ) {}

  /** Takes the reservation for granted until `held` says whether the ledger has it. */
  add(reservation: AssumedReservation, held: Promise<boolean>): void {
    assume(this.view.cluster, reservation);
    const settled = held.then(
      (isHeld) => this.settle(reservation, isHeld),
      () => this.settle(reservation, false),
    );
    this.open.set(reservation.executionId, settled);
  }

  /**
   * Whether all of these reservations come true. To be asked in the same turn as the decision that names them: one that
   * is not open any more but still assumed then is held already.
   */
  async cameTrue(executionIds: readonly string[]): Promise<boolean> {
    const open = executionIds.map((executionId) => this.open.get(executionId) ?? Promise.resolve(true));
    return (await Promise.all(open)).every(Boolean);
  }

  /** A held reservation stays assumed until its event arrives in the view; one that failed is taken back at once. */
  private settle({ executionId, nodeId }: AssumedReservation, held: boolean): boolean {
    this.open.delete(executionId);
    if (held) return true;
    unassume(this.view.cluster, executionId);
    this.failed(nodeId);
    return false;
  }
}
