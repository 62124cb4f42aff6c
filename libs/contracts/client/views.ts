import type { Problem } from '../problems.js';
import type { Artifact, Consumption, Decision, JobStateName } from '../vocabulary.js';

/*
 * What the API answers, as far as programs rely on it. Views carry more than is named here and may grow, so each is open;
 * 64-bit numbers are text.
 */

interface Open {
  readonly [more: string]: unknown;
}

/** `POST /jobs`. */
export interface SubmitAnswer {
  readonly id: string;
  readonly evaluationId: string;
  readonly revision: string;
  readonly warnings: readonly string[];
}

/** `POST /jobs/batch`: what came of each item. */
export interface BatchAnswer {
  readonly items: readonly (
    ({ readonly status: 201 } & SubmitAnswer) | { readonly status: number; readonly problem: Problem }
  )[];
}

export interface JobView extends Open {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly state: JobStateName;
  readonly priority: number;
  readonly revision: string;
  /** Of one job, not in lists: the newest try that failed on its node. */
  readonly lastFailure?: FailedTryView | null;
}

/**
 * How a try failed. `diagnostics` is what the node saw: the last lines of `stdout` and `stderr`, the `signal` that ended it,
 * `peakMemory` of `memoryLimit` and `disk` of `diskLimit` in bytes, and what belongs to the failure's code.
 */
export interface FailedTryView extends Open {
  readonly executionId: string;
  readonly attempt: number;
  readonly nodeId: string;
  readonly exitCode: number | null;
  readonly failure: { readonly class: string; readonly code: string; readonly message: string } | null;
  readonly diagnostics: Readonly<Record<string, unknown>> | null;
}

export interface JobFilter {
  readonly state?: JobStateName;
  readonly project?: string;
  readonly node?: string;
  readonly name?: string;
  readonly type?: string;
  /** RFC 3339. */
  readonly since?: string;
}

export interface HistoryFilter {
  readonly execution?: string;
  /** An event type. */
  readonly type?: string;
}

export interface ExecutionView extends Open {
  readonly executionId: string;
  readonly partition: number;
  readonly attempt: number;
  readonly nodeId: string;
  readonly state: string;
}

/** What one try left behind. */
export interface ResultView extends Open {
  readonly executionId: string;
  readonly partition: number;
  readonly attempt: number;
  readonly nodeId: string;
  readonly state: string;
  readonly exitCode: number | null;
  /** Why it did not succeed, where more is known of that than its state. */
  readonly failure?: { readonly class: string; readonly code: string; readonly message: string } | null;
  /** What it stored, also when it was stopped or failed after that. */
  readonly artifacts: readonly Artifact[];
  readonly consumption: Consumption | null;
}

export interface ResultsAnswer extends Open {
  readonly items: readonly ResultView[];
  /** Tries that still run, whose results are to come. */
  readonly running: number;
}

/** An event exactly as it is stored. */
export interface RawEvent {
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: string;
  readonly position: string;
  readonly recordedAt: string;
  readonly metadata: {
    readonly schemaVersion: number;
    readonly actor: string;
    readonly $correlationId?: string;
    readonly $causationId?: string;
  };
  readonly data: object;
}

export type DecisionView = Decision & Open;

export interface QueueEntry extends Open {
  readonly jobId?: string;
  readonly since?: string;
}

export interface NodeView extends Open {
  readonly id: string;
}

/** A pool: nodes with one queue discipline. */
export interface PoolView extends Open {
  readonly name: string;
  readonly discipline: string;
  /** Those that the reader sees. */
  readonly nodes: readonly string[];
  readonly size: number;
  readonly waiting: number;
  readonly first: {
    readonly jobId: string;
    readonly hold: { readonly nodeId: string; readonly from?: string } | null;
  } | null;
}

/** `nodes` by name, or `where` a constraint on their attributes holds now. */
export interface PoolRequest {
  readonly discipline: string;
  readonly nodes?: readonly string[];
  readonly where?: string;
}

export interface ProjectView extends Open {
  readonly id: string;
  readonly institution: string;
  /** Null when they are none of the reader's affair. */
  readonly members: readonly string[] | null;
}

/** Which recorded decisions: of a job, by the positions of their events (`from` exclusive). */
export interface DecisionRange {
  readonly job?: string;
  readonly from?: string;
  readonly to?: string;
}

/** What a derivation of recorded decisions tells while it goes on; the counts come last, as `end`. */
export type AuditMessage<Found, Summary> =
  | { readonly kind: 'progress'; readonly fraction: number; readonly decisions: number }
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'end'; readonly summary: Summary };

/** A decision whose record and derivation are not the same; `path` is a JSON pointer into it. */
export interface DifferingDecision {
  readonly jobId: string;
  /** Null for a change of the nodes that a job runs on, which has no number. */
  readonly number: number | null;
  readonly position: string;
  readonly differences: readonly { readonly path: string; readonly recorded: unknown; readonly derived: unknown }[];
  /** Differences beyond those listed. */
  readonly more: number;
}

/** Decisions, and changes of the nodes that a job runs on. */
export interface VerificationSummary {
  readonly verified: number;
  readonly otherVersion: number;
  readonly differing: number;
  /** Versions of algorithm and weights that the server cannot repeat, with their decisions. */
  readonly versions: Readonly<Record<string, number>>;
}

/** A decision that other weights would have made otherwise. */
export interface ChangedDecision {
  readonly jobId: string;
  readonly number: number;
  readonly position: string;
  readonly time: string;
  readonly project: string;
  readonly application: string | null;
  readonly profile: string;
  readonly winner: string;
  readonly margin: number | null;
  readonly otherWinner: string;
  readonly otherMargin: number | null;
}

interface ChangeTally {
  readonly considered: number;
  readonly changed: number;
}

export interface WhatIfSummary extends ChangeTally {
  /** Not compared: of another profile than asked for, of another version, or without its job. */
  readonly passedOver: number;
  readonly byProject: Readonly<Record<string, ChangeTally>>;
  readonly byApplication: Readonly<Record<string, ChangeTally>>;
}

/** `POST /jobs/plan`. */
export interface PlanView extends Decision, Open {
  readonly explanation: readonly string[];
  /** Of a job with more partitions than one, or with nodes of its own: how many of those tried could start now. */
  readonly dryRun?: {
    readonly partitions: number;
    readonly startNow: number;
    readonly tried: number;
    /** What keeps the rest. */
    readonly rest?: {
      readonly requested: number;
      readonly available: number;
      readonly suitable: number;
      readonly reasons: readonly {
        readonly code: string;
        readonly text: string;
        readonly retryable: boolean;
        readonly changedBy: readonly string[];
        readonly nodes: number;
      }[];
    };
  };
  readonly warnings: readonly string[];
}

/** `POST /tokens`. */
export interface TokenAnswer {
  readonly role: string;
  readonly account: string;
  readonly token: string;
}

export interface ProjectionView extends Open {
  readonly name: string;
}

/** A line of a log without its end. A log that is not followed does not say whose line it is. */
export interface LogLine {
  readonly text: string;
  readonly executionId?: string;
  readonly stream?: string;
  /** The line stands for so many bytes that nobody kept; its text says so. */
  readonly leftOut?: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string | null;
}
