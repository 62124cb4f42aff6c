import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Assignment, AssignmentsAnswer, Inventory } from '#contracts';
import { within } from '../client/wait.js';
import type { JournalEntry } from '../journal/journal.js';
import { isPlainId } from '../runner/inside.js';
import { refusal } from './admission.js';
import { failure } from './ending.js';
import type { Failure } from './ending.js';
import { Execution, newEntry } from './execution.js';
import type { ExecutionHost } from './host.js';

/** How many ids of executions that are over are remembered, against listings that were made before their end. */
const REMEMBERED = 10_000;
const STOP_LIMIT = 10_000;

/**
 * Makes the machine agree with the server's list: begins what is new and fits, declines what does not, passes on what is
 * desired, and ends whatever runs without being listed.
 */
export class Executions {
  private readonly live = new Map<string, Execution>();
  private readonly recent = new Set<string>();
  private readonly listed = Promise.withResolvers<undefined>();
  private stopping = false;

  constructor(
    private readonly host: ExecutionHost,
    private readonly inventory: () => Inventory,
  ) {}

  /** Goes on with what an earlier agent left in the journal, and removes folders that nothing in it accounts for. */
  async restore(): Promise<void> {
    const unreadable = (file: string): void => this.host.log.error({ file }, 'a journal entry cannot be read');
    const entries = await this.host.journal.entries(unreadable);
    const known = new Set(entries.map(({ assignment }) => assignment.executionId));
    const tasks = join(this.host.data, 'tasks');
    for (const name of await readdir(tasks).catch(() => []))
      if (!known.has(name)) await rm(join(tasks, name), { recursive: true, force: true });
    for (const entry of entries) this.add(entry);
  }

  /** Ids of all executions that the agent holds in some way. */
  ids(): string[] {
    return [...this.live.keys()];
  }

  reconcile({ executions }: AssignmentsAnswer): void {
    const listed = new Set(executions.map(({ executionId }) => executionId));
    for (const execution of this.live.values()) {
      if (listed.has(execution.id) || execution.ended) continue;
      execution.stop(failure('cancelled', 'not-assigned', 'the control plane no longer lists this execution'));
    }
    for (const assignment of executions) {
      const execution = this.live.get(assignment.executionId);
      if (execution) execution.desire(assignment.desired);
      else if (!this.recent.has(assignment.executionId)) this.consider(assignment);
    }
    this.listed.resolve(undefined);
  }

  discard(executionId: string, reason: string): void {
    this.live.get(executionId)?.discard(reason);
  }

  /** Ends what runs with `reason`; what already ended is left to the journal. Resolves when all is reported, within limits. */
  async stop(reason: Failure): Promise<void> {
    this.stopping = true;
    for (const execution of this.live.values()) if (!execution.ended) execution.stop(reason);
    const all = [...this.live.values()].map(({ over }) => over);
    await within(this.host.timers, this.host.grace + STOP_LIMIT, Promise.all(all));
    this.leave();
  }

  /** Lets go of everything as it is: processes run on, and the journal tells the next agent of them. */
  leave(): void {
    this.stopping = true;
    for (const execution of this.live.values()) execution.leave();
  }

  private consider(assignment: Assignment): void {
    const { executionId, desired, state } = assignment;
    if (desired === 'stop') return this.refuse(assignment, failure('cancelled', 'stopped', 'stopped before it began'));
    if (state !== 'reserved')
      return this.refuse(assignment, failure('infrastructure', 'agent-restarted', 'the node has no trace of it'));
    const reason = this.refusal(assignment);
    if (reason === undefined) return this.add(newEntry(assignment));
    this.host.log.info({ executionId, reason }, 'an execution was declined');
    const { fencingToken } = assignment;
    this.remember(executionId);
    void this.host.reports.send({ type: 'decline', executionId, fencingToken, reason });
  }

  private refusal(assignment: Assignment): string | undefined {
    if (this.stopping) return 'the agent is stopping';
    if (!isPlainId(assignment.executionId)) return 'the execution id cannot be a folder name';
    const held = [...this.live.values()].filter(({ holds }) => holds).map(({ assignment: other }) => other.contract);
    return refusal(assignment.contract, held, this.inventory());
  }

  private refuse({ executionId, fencingToken }: Assignment, reason: Failure): void {
    this.remember(executionId);
    void this.host.reports.send({ type: 'fail', executionId, fencingToken, ...reason });
  }

  private add(entry: JournalEntry): void {
    const execution = new Execution(this.host, entry, this.listed.promise);
    this.live.set(execution.id, execution);
    void execution.over.then(() => {
      this.live.delete(execution.id);
      this.remember(execution.id);
    });
  }

  private remember(executionId: string): void {
    this.recent.add(executionId);
    for (const oldest of this.recent) {
      if (this.recent.size <= REMEMBERED) return;
      this.recent.delete(oldest);
    }
  }
}
