import type { Readable } from 'node:stream';
import type { Random, Timers } from '#kernel';
import { messageOf } from '../client/errors.js';
import { isTransient, Refused, Unreachable } from '../client/faults.js';
import { discard } from '../client/http.js';
import { backoff, wait } from '../client/wait.js';
import { ExecutionFault, failure } from '../executions/ending.js';
import { PartialFile, tooLarge } from './partial-file.js';

/** Where to go on in what an origin has: at `from`, if it is still what `validator` names. */
export interface Continuation {
  readonly from: number;
  /** A strong entity tag or a date, as `If-Range` takes it. */
  readonly validator: string | undefined;
}

/** What an origin answered: the bytes from `start` to the end. */
export interface Piece {
  readonly start: number;
  readonly body: Readable;
  /** Bytes of the whole, when the origin says so. */
  readonly size: number | undefined;
  readonly validator: string | undefined;
}

/** Somewhere that an input can be had. */
export interface Origin {
  /** For messages. */
  readonly name: string;
  /** Failures in a row, with not a byte between them, after which it counts as unreachable. */
  readonly patience: number;
  /** Whether what is there can be continued without a validator, for its name tells its content. */
  readonly immutable: boolean;
  open(continuation: Continuation, signal: AbortSignal): Promise<Piece>;
}

export interface Transfer {
  readonly origin: Origin;
  /** Where the bytes go; what an earlier transfer of the same digest left there is continued. */
  readonly path: string;
  /** What they must have. */
  readonly sha256: string | undefined;
  readonly limit: number;
  readonly received: (bytes: number) => void;
}

/** How often bytes that do not verify are fetched anew from an origin whose content cannot have changed. */
const TRIES = 4;

/**
 * Fetches what an origin has into a file, verified and on disk when it resolves.
 *
 * Modes: *reading* takes bytes as they come; *waiting* is a pause between two answers, which grows from 250 ms to 10 s with
 * failures in a row and is as short as the first again after any byte. After a cut, reading goes on where it stopped if the
 * origin still has the same, else from the start. Bytes that do not verify are fetched anew if they came in several pieces,
 * which may not have belonged together. It ends with the verified file, an `ExecutionFault`, a full disk, or `signal`.
 */
export const transfer = async (what: Transfer, timers: Timers, random: Random, signal: AbortSignal): Promise<void> => {
  const file = await PartialFile.open(what.path);
  try {
    await new Attempts(what, file, timers, random, signal).run();
    await file.sync();
  } finally {
    await file.close();
  }
};

class Attempts {
  private validator: string | undefined;
  private failures = 0;
  private pieces = 0;
  private wrong = 0;

  constructor(
    private readonly what: Transfer,
    private readonly file: PartialFile,
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly signal: AbortSignal,
  ) {
    // What is there already came in an earlier piece.
    if (file.size > 0) this.pieces = 1;
  }

  async run(): Promise<void> {
    if (!this.mayContinue()) await this.startOver();
    while (!this.isWhole()) {
      const before = this.file.size;
      try {
        await this.readOn();
        if (this.what.sha256 === undefined) return;
        if (!this.isWhole()) await this.refuse(this.what.sha256);
      } catch (error) {
        if (this.file.size > before) this.failures = 0;
        await this.recover(error);
      }
    }
  }

  private isWhole(): boolean {
    return this.file.sha256() === this.what.sha256;
  }

  private mayContinue(): boolean {
    return this.what.origin.immutable || this.what.sha256 !== undefined || this.validator !== undefined;
  }

  private async readOn(): Promise<void> {
    const { origin, limit, received } = this.what;
    const piece = await origin.open({ from: this.file.size, validator: this.validator }, this.signal);
    try {
      if (piece.size !== undefined && piece.size > limit) throw tooLarge(limit);
      if (piece.start !== this.file.size) await this.startOver();
      if (piece.start !== this.file.size) throw new Unreachable(new Error('it goes on at another place'));
      this.validator = piece.validator;
      this.pieces += 1;
      await this.file.append(piece.body, limit, received);
      if (piece.size !== undefined && this.file.size < piece.size) throw new Unreachable(new Error('it broke off'));
    } finally {
      discard(piece.body);
    }
  }

  /** All came, and it is not what it should be. */
  private async refuse(expected: string): Promise<void> {
    const { origin } = this.what;
    const glued = this.pieces > 1;
    this.wrong += 1;
    if (this.wrong >= TRIES || (!glued && !origin.immutable)) throw corrupt(origin.name, expected, this.file.sha256());
    await this.startOver();
  }

  private async startOver(): Promise<void> {
    await this.file.clear();
    this.validator = undefined;
    this.pieces = 0;
  }

  /** Waits before the next answer is asked for, or throws what no answer can mend. */
  private async recover(error: unknown): Promise<void> {
    const { name, patience } = this.what.origin;
    const nothingBehind = error instanceof Refused && error.status === 416 && this.file.size > 0;
    if (this.signal.aborted || !(nothingBehind || isTransient(error))) throw refusalOf(error, name);
    if (nothingBehind) await this.startOver();
    this.failures += 1;
    if (this.failures >= patience)
      throw new ExecutionFault(failure('infrastructure', 'input-unreachable', `${name}: ${messageOf(error)}`));
    if (!this.mayContinue()) await this.startOver();
    const asked = error instanceof Refused ? error.retryAfter : 0;
    await wait(this.timers, Math.max(asked, backoff(this.failures - 1, this.random)), this.signal);
    this.signal.throwIfAborted();
  }
}

const refusalOf = (error: unknown, name: string): unknown =>
  error instanceof Refused
    ? new ExecutionFault(failure('input', 'input-refused', `${name} cannot be fetched: ${error.message}`))
    : error;

const corrupt = (name: string, expected: string, actual: string): ExecutionFault =>
  new ExecutionFault(
    failure('input', 'input-corrupt', `${name} does not verify: it has sha256 ${actual}, not ${expected}`, {
      expected,
      actual,
    }),
  );
