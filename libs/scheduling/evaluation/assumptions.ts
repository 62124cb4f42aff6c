import { assume, unassume } from '#placement';
import type { ClusterState, AssumedReservation } from '#placement';

/**
 * Reservations that were sent to a node's ledger and are not seen in the log yet. Decisions made meanwhile count them as
 * taken; each of those names them, and is stored only when every one of them has come true.
 */
export class Assumptions {
  private readonly open = new Map<string, Promise<boolean>>();

  constructor(private readonly cluster: ClusterState) {}

  /** Takes the reservation for granted until `held` says whether the ledger has it. */
  add(reservation: AssumedReservation, held: Promise<boolean>): void {
    assume(this.cluster, reservation);
    const { executionId } = reservation;
    const settled = held.then(
      (isHeld) => this.settle(executionId, isHeld),
      () => this.settle(executionId, false),
    );
    this.open.set(executionId, settled);
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
  private settle(executionId: string, held: boolean): boolean {
    this.open.delete(executionId);
    if (!held) unassume(this.cluster, executionId);
    return held;
  }
}
