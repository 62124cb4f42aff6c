import type { Millis, Rejection } from '#kernel';
import type { Contract } from '#nodes';
import {
  demandOf,
  estimateMistakes,
  forecast,
  holding,
  itemsOfNext,
  machineOf,
  verdict,
  without,
} from './budget/index.js';
import type {
  BatchSeen,
  Capacity,
  Estimate,
  ExpectedRelease,
  Forecast,
  Machine,
  Reject,
  Verdict,
  Wait,
} from './budget/index.js';
import { frozenCopy } from './frozen.js';

declare const opaque: unique symbol;

/**
 * A claim on the machine's resources, active from `reserve` or `adopt` until its first `release`. It tells nothing and can
 * do nothing: only the governor that made it knows what it stands for.
 */
export interface Reservation {
  readonly [opaque]: never;
}

/** A claim that was made, with a copy of its contract; or why there is none. */
export type Reserved = Granted | Wait | Reject;

export interface Granted {
  readonly kind: 'GRANT' | 'REDUCE_BATCH';
  readonly reservation: Reservation;
  readonly contract: Contract;
}

/** `released`: given back now. The others change nothing: it was given back before, or is not of this governor. */
export type Release = 'released' | 'already-released' | 'unknown';

/** When reservations are expected to be given back, by the estimates of those who hold them. */
export interface Outlook {
  readonly now: Millis;
  /** Absent when nobody knows. */
  readonly endOf: (reservation: Reservation) => Millis | undefined;
}

/**
 * The only place where budgets are computed and claims are kept: cores, memory, devices, disk, I/O slots and the size
 * of batches. It orders nothing and runs nothing; who asks first is served first. Giving back wakes nobody: whoever
 * releases tells those who wait (`TaskQueue.resourcesChanged`).
 */
export class ResourceGovernor {
  readonly #held = new Map<Reservation, Contract>();
  readonly #issued = new WeakSet<Reservation>();
  #machine: Machine;

  constructor(capacity: Capacity) {
    this.#machine = machineOf(capacity);
  }

  /** What `reserve` would answer now, without a claim. */
  examine(estimate: Estimate): Verdict {
    const mistakes = estimateMistakes(estimate);
    if (mistakes.length > 0)
      return {
        kind: 'REJECT',
        reason: { code: 'estimate.invalid', message: mistakes.join('; '), details: { mistakes } },
      };
    return verdict(demandOf(estimate), this.#machine);
  }

  /** Claims what the estimate asks for, possibly with a smaller batch, when it is free. */
  reserve(estimate: Estimate): Reserved {
    return this.#claim(this.examine(estimate));
  }

  /**
   * Claims, until `endsBy` as far as anybody knows, only if `head`, which waits in front, then neither starts later nor with a
   * smaller batch, by the estimates: EASY backfill (Lifka 1995; Mu'alem and Feitelson 2001). Without a known start of the
   * head nothing passes it.
   */
  reserveBehind(head: Estimate, estimate: Estimate, endsBy: Millis | undefined, outlook: Outlook): Reserved {
    const answer = this.examine(estimate);
    if (answer.kind === 'WAIT' || answer.kind === 'REJECT') return answer;
    const { contract } = answer;
    const before = this.forecast(head, outlook);
    const releases = this.#expectedReleases(outlook);
    if (endsBy !== undefined) releases.push({ at: endsBy, contract });
    const after = forecast(demandOf(head), holding(this.#machine, contract), releases, outlook.now);
    return isNoWorse(before, after) ? this.#claim(answer) : { kind: 'WAIT', reason: DELAYS_HEAD };
  }

  /** When the estimate is expected to be granted if nothing else is; undefined when that cannot be told. */
  forecast(estimate: Estimate, outlook: Outlook): Forecast | undefined {
    return forecast(demandOf(estimate), this.#machine, this.#expectedReleases(outlook), outlook.now);
  }

  /**
   * How many items the next batch may have of something that holds `contract` for the estimate, and goes on holding it whatever
   * the answer: from the least that the estimate takes to the contract's own batch.
   */
  nextBatch(contract: Contract, estimate: Estimate, seen: BatchSeen): number {
    return itemsOfNext(demandOf(estimate), contract, without(this.#machine, contract), seen);
  }

  /** Counts what is held already, by something that runs since before this governor, whether it fits or not. */
  adopt(contract: Contract): Reservation {
    return this.#hold(frozenCopy(contract));
  }

  /** Gives a claim back. Only the first time counts; the answer says whether it was. */
  release(reservation: Reservation): Release {
    const contract = this.#held.get(reservation);
    if (!contract) return this.#issued.has(reservation) ? 'already-released' : 'unknown';
    this.#held.delete(reservation);
    this.#machine = without(this.#machine, contract);
    return 'released';
  }

  isActive(reservation: Reservation): boolean {
    return this.#held.has(reservation);
  }

  /** Replaces what there is. Claims stay, even where the new capacity is smaller than they are. */
  setCapacity(capacity: Capacity): void {
    this.#machine = machineOf(capacity, this.#held.values());
  }

  /** Copies of all contracts held, oldest first. */
  contracts(): Contract[] {
    return [...this.#held.values()].map((contract) => structuredClone(contract));
  }

  #claim(answer: Verdict): Reserved {
    if (answer.kind === 'WAIT' || answer.kind === 'REJECT') return answer;
    const contract = frozenCopy(answer.contract);
    return { kind: answer.kind, reservation: this.#hold(contract), contract: frozenCopy(contract) };
  }

  #hold(contract: Contract): Reservation {
    const reservation = Object.freeze({}) as Reservation;
    this.#held.set(reservation, contract);
    this.#issued.add(reservation);
    this.#machine = holding(this.#machine, contract);
    return reservation;
  }

  #expectedReleases({ endOf }: Outlook): ExpectedRelease[] {
    return [...this.#held].flatMap(([reservation, contract]) => {
      const at = endOf(reservation);
      return at === undefined ? [] : [{ at, contract }];
    });
  }
}

const DELAYS_HEAD: Rejection = { code: 'backfill.delays-head', message: 'it might delay what waits ahead of it' };

const isNoWorse = (before: Forecast | undefined, after: Forecast | undefined): boolean =>
  before !== undefined && after !== undefined && after.at <= before.at && after.items >= before.items;
