import { Inject, Injectable } from '@nestjs/common';
import type { EventStore } from '#event-store';
import { toInstant } from '#kernel';
import type { Clock, Timers } from '#kernel';
import { changeInWords, explainDecision, formatSeconds, reasonDefinition, requestOf, smallestChange } from '#placement';
import type { NodeExplanation, PlacementRequest, SmallestChange } from '#placement';
import { ProblemException } from '#platform/http';
import type { Caller } from '#platform/http';
import { CLOCK, EVENT_STORE, TIMERS } from '#platform/ports';
import { ClusterView, nodeSight } from '#scheduling';
import type { Decision } from '../../domain/decision.js';
import { jobStream } from '../../domain/events.js';
import type { JobEvent } from '../../domain/events.js';
import type { JobState } from '../../domain/state.js';
import { waitedByCause } from '../../domain/waited.js';
import type { Waited } from '../../domain/waited.js';
import { JobQueries } from '../../read/index.js';
import { inTurns } from './in-turns.js';
import { Naming, decisionFor, withheldLine } from './naming.js';
import type { ReadDecision } from './naming.js';
import { explainNodeAt, nodeInWords } from './node-at-decision.js';
import { triesBeforeLines } from './tries-before.js';

/** A decision with what can be said of it. */
export type Explained = ReadDecision & {
  readonly explanation: readonly string[];
  /** Of a job that waits now, at its last decision. */
  readonly smallestChange?: SmallestChange;
  /** Seconds without an execution, of the decision's partition, by cause; they add up. */
  readonly waited?: { readonly seconds: number; readonly causes: readonly { cause: string; seconds: number }[] };
  readonly node?: NodeExplanation;
};

/** Why: what is answered about decisions, each time as its reader may see it. */
@Injectable()
export class Explanations {
  constructor(
    private readonly jobs: JobQueries,
    private readonly view: ClusterView,
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(TIMERS) private readonly timers: Timers,
  ) {}

  /** The names that a reader of this job sees: those he sees anyway, and wherever the job was sent. */
  namingFor(caller: Caller, job?: JobState): Naming {
    const sees = nodeSight(this.view.cluster, caller);
    const sent = new Set(Object.values(job?.executions ?? {}).map(({ nodeId }) => nodeId));
    return new Naming((nodeId) => sent.has(nodeId) || sees(nodeId));
  }

  async decision(job: JobState, caller: Caller, number: number, node?: string): Promise<Explained> {
    const { jobId } = job;
    const decision = await this.jobs.history.decision(jobId, number);
    if (!decision) throw new ProblemException('DECISION_NOT_FOUND', `job ${jobId} has no decision ${String(number)}`);
    const naming = this.namingFor(caller, job);
    if (node !== undefined) return this.aboutNode(jobId, decision, node, naming);
    const events = await this.eventsOf(jobId);
    const waited = waitedByCause(events, decision.partition, toInstant(this.clock.now()));
    const request = number === job.decisions ? this.waitingRequest(jobId, decision) : undefined;
    const explained = this.explained(decision, request, naming);
    const more = [...triesBeforeLines(events, decision), ...waitedLine(waited)];
    return { ...explained, explanation: [...explained.explanation, ...more], waited: inSeconds(waited) };
  }

  /** A decision that was made for a look only. */
  plan(decision: Decision, request: PlacementRequest, caller: Caller): Explained {
    return this.explained(decision, decision.outcome === 'placed' ? undefined : request, this.namingFor(caller));
  }

  private explained(decision: Decision, request: PlacementRequest | undefined, naming: Naming): Explained {
    const time = toInstant(this.clock.now());
    const found = request && smallestChange(request, this.view.cluster, { time });
    const change = found && 'nodeId' in found ? { ...found, nodeId: naming.name(found.nodeId) } : found;
    const read = decisionFor(decision, naming);
    const lines = [...explainDecision(read), ...(change ? [changeInWords(change)] : []), ...withheldLine(naming)];
    return { ...read, explanation: lines, ...(change && { smallestChange: change }) };
  }

  /** What still asks for a place: the last decision did not find one, and nothing has come of it since. */
  private waitingRequest(jobId: string, { outcome, partition }: Decision): PlacementRequest | undefined {
    const job = this.view.cluster.jobs.get(jobId);
    if (!job || outcome === 'placed') return undefined;
    // A daemon without a node waits as a whole.
    const { state = 'waiting' } = job.partitions[partition] ?? {};
    return state === 'waiting' ? requestOf(job, partition) : undefined;
  }

  /** A node that the reader does not see is as good as absent. */
  private async aboutNode(jobId: string, decision: Decision, node: string, naming: Naming): Promise<Explained> {
    const found = await explainNodeAt(this.store, jobId, decision, node, inTurns(this.clock, this.timers));
    const answer = naming.sees(found.nodeId) ? found : { kind: 'unknown' as const, nodeId: node };
    const read = decisionFor(decision, naming);
    return { ...read, node: answer, explanation: nodeInWords(read, answer) };
  }

  private async eventsOf(jobId: string): Promise<JobEvent[]> {
    const events: JobEvent[] = [];
    for await (const event of this.store.readStream(jobStream(jobId))) events.push(event as unknown as JobEvent);
    return events;
  }
}

const inSeconds = ({ millis, causes }: Waited) => ({
  seconds: millis / 1000,
  causes: causes.map((one) => ({ cause: one.cause, seconds: one.millis / 1000 })),
});

const OWN_CAUSES: Readonly<Record<string, string>> = {
  look: 'until it was looked at',
  backoff: 'backoff before the next attempt',
  paused: 'paused',
  dependencies: 'until the jobs that it waited for had ended',
  'no-nodes': 'no node had enrolled',
};

const waitedLine = ({ millis, causes }: Waited): string[] => {
  // A look takes some milliseconds, which nobody waits for.
  if (millis < 1000) return [];
  const parts = causes.map(({ cause, millis: span }) => {
    const words = OWN_CAUSES[cause] ?? reasonDefinition(cause)?.description ?? cause;
    return `${formatSeconds(Math.round(span / 1000))} ${words}`;
  });
  return [`Waited ${formatSeconds(Math.round(millis / 1000))} in all: ${parts.join('; ')}.`];
};
