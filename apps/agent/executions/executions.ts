import type { Assignment, AssignmentsAnswer, Contract, Inventory } from '#contracts';
import type { BatchSizes } from '../batches/batches.js';
import { within } from '../client/wait.js';
import { newEntry } from '../journal/entry.js';
import type { JournalEntry } from '../journal/entry.js';
import { isPlainId } from '../runner/inside.js';
import { Admission } from './admission.js';
import { failure } from './ending.js';
import type { Failure } from './ending.js';
import { Execution } from './execution.js';
import type { ExecutionHost } from './host.js';
import { removeOrphans } from './orphans.js';

/** How many ids of executions that are over are remembered, against listings that were made before their end. */
const REMEMBERED = 10_000;
const STOP_LIMIT = 10_000;
/** What has its inputs in its folder and may still read them. */
const HAS_INPUTS: ReadonlySet<JournalEntry['phase']> = new Set(['starting', 'running', 'between']);
/** What may have a process, or a container. */
const MAY_RUN: ReadonlySet<JournalEntry['phase']> = new Set(['starting', 'running']);
const STOPPING = 'the agent is stopping';

const idsOf = (entries: readonly JournalEntry[], phases: ReadonlySet<JournalEntry['phase']>): ReadonlySet<string> =>
  new Set(entries.filter(({ phase }) => phases.has(phase)).map(({ assignment }) => assignment.executionId));

/**
 * Makes the machine agree with the server's list: begins what is new as soon as there is room for it, declines what has none
 * in time, passes on what is desired, and ends whatever runs without being listed.
 */
export class Executions {
  private readonly live = new Map<string, Execution>();
  /** What waits for room, as it was listed last. */
  private readonly waiting = new Map<string, Assignment>();
  private readonly admission: Admission;
  private readonly recent = new Set<string>();
  private readonly listed = Promise.withResolvers<undefined>();
  private stopping = false;

  constructor(
    private readonly host: ExecutionHost,
    inventory: Inventory,
  ) {
    this.admission = new Admission(inventory, host.lanes, host);
  }

  /** Goes on with what an earlier agent left in the journal; processes and folders that nothing in it accounts for go. */
  async restore(): Promise<void> {
    const unreadable = (file: string): void => this.host.log.error({ file }, 'a journal entry cannot be read');
    const entries = await this.host.journal.entries(unreadable);
    const known = new Set(entries.map(({ assignment }) => assignment.executionId));
    await removeOrphans(this.host, known);
    await this.host.containers.removeOthers(idsOf(entries, MAY_RUN));
    for (const entry of entries) {
      const { executionId, inputs } = entry.assignment;
      if (HAS_INPUTS.has(entry.phase)) this.host.inputs.adopt(executionId, inputs);
      const execution = this.add(entry);
      if (entry.phase !== 'finished') this.admission.adopt(entry.assignment, execution);
    }
  }

  /** Tells what the machine has from now on. */
  resize(inventory: Inventory): void {
    this.admission.resize(inventory);
  }

  /** Ids of all executions that the agent holds in some way. */
  ids(): string[] {
    return [...this.live.keys(), ...this.waiting.keys()];
  }

  reconcile({ executions }: AssignmentsAnswer): void {
    const listed = new Set(executions.map(({ executionId }) => executionId));
    for (const execution of this.live.values()) {
      if (listed.has(execution.id) || execution.ended) continue;
      execution.stop(failure('cancelled', 'not-assigned', 'the control plane no longer lists this execution'));
    }
    for (const id of this.waiting.keys()) if (!listed.has(id)) this.forget(id);
    for (const assignment of executions) {
      const execution = this.live.get(assignment.executionId);
      if (execution) execution.desire(assignment.desired, assignment.state);
      else if (this.waiting.has(assignment.executionId)) this.keepWaiting(assignment);
      else if (!this.recent.has(assignment.executionId)) this.consider(assignment);
    }
    if (this.waiting.size > 0) this.admission.outlookChanged();
    this.listed.resolve(undefined);
  }

  discard(executionId: string, reason: string): void {
    this.live.get(executionId)?.discard(reason);
    this.admission.outlookChanged();
  }

  /** Takes nothing new: what waits is declined, and so is what is listed from now on. */
  close(): void {
    this.stopping = true;
    for (const id of this.waiting.keys()) this.admission.withdraw(id, STOPPING);
  }

  /** Resolves when nothing is left of all that is here now. */
  async idle(): Promise<void> {
    await Promise.all([...this.live.values()].map(({ over }) => over));
  }

  /** Ends what runs with `reason`; what already ended is left to the journal. Resolves when all is reported, within limits. */
  async stop(reason: Failure): Promise<void> {
    this.close();
    for (const execution of this.live.values()) if (!execution.ended) execution.stop(reason);
    await within(this.host.timers, this.host.grace + STOP_LIMIT, this.idle());
    await this.leave();
  }

  /**
   * Lets go of everything as it is: processes run on, and the journal tells the next agent of them. What waits is listed
   * to that one again.
   */
  async leave(): Promise<void> {
    this.stopping = true;
    for (const id of this.waiting.keys()) this.forget(id);
    for (const execution of this.live.values()) execution.leave();
    await this.admission.close();
  }

  private consider(assignment: Assignment): void {
    const { executionId, desired, state } = assignment;
    if (desired === 'stop') return this.refuse(assignment, failure('cancelled', 'stopped', 'stopped before it began'));
    if (state !== 'reserved')
      return this.refuse(assignment, failure('infrastructure', 'agent-restarted', 'the node has no trace of it'));
    if (this.stopping) return this.decline(assignment, STOPPING);
    if (!isPlainId(executionId)) return this.decline(assignment, 'the execution id cannot be a folder name');
    this.waiting.set(executionId, assignment);
    this.admission.admit(assignment, {
      begin: (contract) => this.begin(executionId, contract),
      decline: (reason) => this.declineWaiting(executionId, reason),
    });
  }

  private begin(executionId: string, contract: Contract): Execution | undefined {
    const assignment = this.waiting.get(executionId);
    if (!assignment) return undefined;
    this.waiting.delete(executionId);
    return this.add(newEntry(assignment, contract));
  }

  private keepWaiting(assignment: Assignment): void {
    const { executionId, desired } = assignment;
    if (desired !== 'stop') return void this.waiting.set(executionId, assignment);
    this.forget(executionId);
    this.refuse(assignment, failure('cancelled', 'stopped', 'stopped before it began'));
  }

  private declineWaiting(executionId: string, reason: string): void {
    const assignment = this.waiting.get(executionId);
    if (!this.waiting.delete(executionId) || !assignment) return;
    this.decline(assignment, reason);
  }

  /** Nobody waits for an answer any more. */
  private forget(executionId: string): void {
    this.waiting.delete(executionId);
    this.admission.withdraw(executionId, 'not listed any more');
  }

  private decline({ executionId, fencingToken }: Assignment, reason: string): void {
    this.host.log.info({ executionId, reason }, 'an execution was declined');
    this.remember(executionId);
    void this.host.reports.send({ type: 'decline', executionId, fencingToken, reason });
  }

  private refuse({ executionId, fencingToken }: Assignment, reason: Failure): void {
    this.remember(executionId);
    void this.host.reports.send({ type: 'fail', executionId, fencingToken, ...reason });
  }

  private add(entry: JournalEntry): Execution {
    const sizes: BatchSizes = (assignment, seen) => this.admission.nextBatch(assignment, seen);
    const execution = new Execution(this.host, entry, this.listed.promise, sizes);
    this.live.set(execution.id, execution);
    void execution.released.then(() => this.host.inputs.release(execution.id));
    void execution.over.then(() => {
      this.live.delete(execution.id);
      this.remember(execution.id);
    });
    return execution;
  }

  private remember(executionId: string): void {
    this.recent.add(executionId);
    for (const oldest of this.recent) {
      if (this.recent.size <= REMEMBERED) return;
      this.recent.delete(oldest);
    }
  }
}
