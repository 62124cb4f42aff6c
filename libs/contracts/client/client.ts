import { systemTimers } from '#kernel';
import type { Millis, Timers } from '#kernel';
import type { Policy } from '../vocabulary.js';
import { send } from './http.js';
import type { Bytes, Connection, Headers, HttpRequest, Query } from './http.js';
import { auditMessages, followEvents, logLines } from './streams.js';
import type { LogRequest } from './streams.js';
import type {
  AuditMessage,
  ChangedDecision,
  DecisionRange,
  DecisionView,
  DifferingDecision,
  ExecutionView,
  HistoryFilter,
  JobFilter,
  JobView,
  LogLine,
  NodeView,
  Page,
  PlanView,
  PoolRequest,
  PoolView,
  ProjectionView,
  ProjectView,
  QueueEntry,
  RawEvent,
  ResultsAnswer,
  BatchAnswer,
  SubmitAnswer,
  TokenAnswer,
  VerificationSummary,
  WhatIfSummary,
} from './views.js';
import { waitForEnd } from './wait.js';

export interface ClientOptions extends Connection {
  /** Paces polling and reconnecting. Default: the system's. */
  readonly timers?: Timers;
}

/** The answer to a write, with where it was recorded. Both are undefined when nothing was. */
export interface Written<Body> {
  readonly body: Body;
  /** The stream's revision: send it as If-Match. */
  readonly revision: string | undefined;
  readonly position: string | undefined;
}

export interface WriteOptions {
  /** The revision that was read; the write is refused (REVISION_MISMATCH) when there is a newer one. */
  readonly ifMatch?: string;
  /** The same key and request give the same answer, however often it is sent. */
  readonly idempotencyKey?: string;
}

export interface LogOptions {
  readonly execution?: string;
  /** Only the last lines. */
  readonly tail?: number;
  /** Goes on until the job has ended, over lost connections. */
  readonly follow?: boolean;
  /** Each line with its execution and stream, and how much is left out; what is followed has them anyway. */
  readonly origins?: boolean;
  readonly signal?: AbortSignal;
}

export interface EventsOptions {
  /** Exclusive: the last position seen. */
  readonly from?: string;
  /** Goes on live, over lost connections, until `signal` is aborted. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

export interface WaitOptions {
  /** Gives up after so many milliseconds. */
  readonly within?: Millis;
  readonly signal?: AbortSignal;
}

const segment = encodeURIComponent;
/** The largest that the server gives. */
const PAGE = 200;

/**
 * The REST API as one account. A read follows this client's own writes: it names the newest position written, and the
 * server waits (at most 2 s) until its read model has passed it.
 */
export class EscalonClient {
  private readonly timers: Timers;
  private written: bigint | undefined;

  constructor(private readonly connection: ClientOptions) {
    this.timers = connection.timers ?? systemTimers;
  }

  // Jobs

  /** A problem of code VALIDATION_FAILED names every mistake in `errors`. */
  submitJob(spec: unknown, options: WriteOptions = {}): Promise<Written<SubmitAnswer>> {
    return this.write('POST', '/jobs', spec, options);
  }

  /** One answer each, in order; a wrong item does not stop the others. */
  submitJobs(items: readonly unknown[], options: WriteOptions = {}): Promise<Written<BatchAnswer>> {
    return this.write('POST', '/jobs/batch', { items }, options);
  }

  /** What the scheduler would decide now; nothing is written. */
  async planJob(spec: unknown): Promise<PlanView> {
    return (await this.write<PlanView>('POST', '/jobs/plan', spec)).body;
  }

  getJob(id: string, signal?: AbortSignal): Promise<JobView> {
    return this.read(`/jobs/${segment(id)}`, {}, signal);
  }

  /** Newest first, page by page as they are asked for. */
  listJobs(filter: JobFilter = {}): AsyncGenerator<JobView> {
    return this.list('/jobs', { ...filter });
  }

  cancelJob(id: string, reason: string, options: WriteOptions = {}): Promise<Written<JobView>> {
    return this.write('POST', `/jobs/${segment(id)}/cancel`, { reason }, options);
  }

  pauseJob(id: string, reason: string, options: WriteOptions = {}): Promise<Written<JobView>> {
    return this.write('POST', `/jobs/${segment(id)}/pause`, { reason }, options);
  }

  resumeJob(id: string, options: WriteOptions = {}): Promise<Written<JobView>> {
    return this.write('POST', `/jobs/${segment(id)}/resume`, undefined, options);
  }

  /** A new job from an ended one, with these changes laid over its file; `null` takes a field out. */
  rerunJob(id: string, changes: object = {}, options: WriteOptions = {}): Promise<Written<SubmitAnswer>> {
    return this.write('POST', `/jobs/${segment(id)}/rerun`, { changes }, options);
  }

  changePriority(id: string, priority: number, ifMatch: string): Promise<Written<JobView>> {
    return this.write('PATCH', `/jobs/${segment(id)}`, { priority }, { ifMatch });
  }

  timeline(id: string): Promise<Page<unknown>> {
    return this.read(`/jobs/${segment(id)}/timeline`);
  }

  /** The timeline in pages as they are asked for: of one try, of one type of event. */
  history(id: string, filter: HistoryFilter = {}): AsyncGenerator {
    return this.list(`/jobs/${segment(id)}/timeline`, { ...filter, limit: PAGE });
  }

  decisions(id: string): Promise<Page<DecisionView>> {
    return this.read(`/jobs/${segment(id)}/decisions`);
  }

  /** Decision `number` (from 1); with `node`, why that node was or was not it. */
  decision(id: string, number: number, node?: string): Promise<DecisionView> {
    return this.read(`/jobs/${segment(id)}/decisions/${number}`, { node });
  }

  executions(id: string): Promise<Page<ExecutionView>> {
    return this.read(`/jobs/${segment(id)}/executions`);
  }

  results(id: string): Promise<ResultsAnswer> {
    return this.read(`/jobs/${segment(id)}/results`);
  }

  /** The job's stream, oldest first. */
  jobEvents(id: string): Promise<Page<RawEvent>> {
    return this.read(`/jobs/${segment(id)}/events`);
  }

  logs(id: string, options: LogOptions = {}): AsyncGenerator<LogLine> {
    const { signal, execution, tail, follow = false, origins = false } = options;
    const path = `/jobs/${segment(id)}/logs`;
    const open = (asked: LogRequest): Promise<Response> => {
      const query = { execution, tail: asked.tail, follow: asked.follow ? true : undefined };
      const headers = { accept: origins ? 'text/event-stream' : undefined, 'last-event-id': asked.after };
      return this.send({ method: 'GET', path, query, headers, signal });
    };
    return logLines(open, this.timers, { tail, follow, signal });
  }

  /**
   * Resolves with the job once it has ended (completed, failed or cancelled), or as it is when `within` is over. A server
   * that does not answer is waited for.
   */
  waitForJob(id: string, options: WaitOptions = {}): Promise<JobView> {
    return waitForEnd((signal) => this.getJob(id, signal), this.timers, options);
  }

  queue(query: Query = {}): AsyncGenerator<QueueEntry> {
    return this.list('/queue', query);
  }

  // Nodes and projects

  nodes(): AsyncGenerator<NodeView> {
    return this.list('/nodes');
  }

  node(id: string): Promise<NodeView> {
    return this.read(`/nodes/${segment(id)}`);
  }

  cordonNode(id: string, reason: string): Promise<Written<NodeView>> {
    return this.write('POST', `/nodes/${segment(id)}/cordon`, { reason });
  }

  uncordonNode(id: string): Promise<Written<NodeView>> {
    return this.write('POST', `/nodes/${segment(id)}/uncordon`, undefined);
  }

  /** `deadline` (RFC 3339) is when what still runs there is stopped. */
  drainNode(id: string, reason: string, deadline?: string): Promise<Written<NodeView>> {
    return this.write('POST', `/nodes/${segment(id)}/drain`, { reason, ...(deadline !== undefined && { deadline }) });
  }

  setPolicy(id: string, policy: Policy, options: WriteOptions = {}): Promise<Written<NodeView>> {
    return this.write('PUT', `/nodes/${segment(id)}/policy`, policy, options);
  }

  pools(): AsyncGenerator<PoolView> {
    return this.list('/pools');
  }

  pool(name: string): Promise<PoolView> {
    return this.read(`/pools/${segment(name)}`);
  }

  /** Makes these nodes, and no others, a pool with this discipline. */
  setPool(name: string, pool: PoolRequest): Promise<Written<PoolView>> {
    return this.write('PUT', `/pools/${segment(name)}`, pool);
  }

  /** Its nodes belong to no pool then. */
  deletePool(name: string): Promise<Written<PoolView>> {
    return this.write('DELETE', `/pools/${segment(name)}`, undefined);
  }

  projects(): AsyncGenerator<ProjectView> {
    return this.list('/projects');
  }

  putProject(id: string, config: object, options: WriteOptions = {}): Promise<Written<ProjectView>> {
    return this.write('PUT', `/projects/${segment(id)}`, config, options);
  }

  // Artifacts

  /** Stores bytes under their digest (hexadecimal SHA-256), which the server verifies. A file: `await openAsBlob(path)`. */
  async uploadArtifact(sha256: string, bytes: Bytes, size?: number): Promise<void> {
    const headers = {
      'content-length': bytes instanceof ReadableStream && size !== undefined ? String(size) : undefined,
    };
    const response = await this.send({ method: 'PUT', path: `/artifacts/${segment(sha256)}`, bytes, headers });
    await response.body?.cancel();
  }

  /** The bytes as they arrive; check the digest when they matter. */
  async downloadArtifact(sha256: string, signal?: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const { body } = await this.send({ method: 'GET', path: `/artifacts/${segment(sha256)}`, signal });
    return body ?? new Blob([]).stream();
  }

  // The system

  projections(): Promise<Page<ProjectionView>> {
    return this.read('/projections');
  }

  async rebuildProjection(name: string): Promise<ProjectionView> {
    return (await this.write<ProjectionView>('POST', `/projections/${segment(name)}/rebuild`, undefined)).body;
  }

  /** A bearer token, shown once; one of role `node` may only enrol. */
  async createToken(role: string, account: string): Promise<TokenAnswer> {
    return (await this.write<TokenAnswer>('POST', '/tokens', { role, account })).body;
  }

  /** The whole log after `from`, oldest first. */
  events({ from, follow = false, signal }: EventsOptions = {}): AsyncGenerator<RawEvent> {
    const open = (after: string | undefined, live: boolean): Promise<Response> =>
      this.send({ method: 'GET', path: '/events', query: { from: after, follow: live ? true : undefined }, signal });
    return followEvents(open, this.timers, { from, follow, signal });
  }

  // The audit

  /** Derives recorded decisions again and compares: what differs as it is found, at last the counts. */
  verifyDecisions(range: DecisionRange = {}): AsyncGenerator<AuditMessage<DifferingDecision, VerificationSummary>> {
    return this.audit('/audit/verify', { ...range });
  }

  /** Derives recorded decisions with other weights (`resources=40,…`, all five), of one profile or of all. */
  whatIf(
    weights: string,
    range: DecisionRange & { readonly profile?: string } = {},
  ): AsyncGenerator<AuditMessage<ChangedDecision, WhatIfSummary>> {
    return this.audit('/whatif', { weights, ...range });
  }

  private async *audit<Found, Summary>(path: string, query: Query): AsyncGenerator<AuditMessage<Found, Summary>> {
    const headers = { accept: 'text/event-stream' };
    yield* auditMessages<Found, Summary>(await this.send({ method: 'GET', path, query, headers }));
  }

  // Requests

  private send(request: HttpRequest): Promise<Response> {
    const minimum = request.method === 'GET' && this.written !== undefined ? String(this.written) : undefined;
    return send(this.connection, {
      ...request,
      headers: { 'escalon-min-position': minimum, ...request.headers },
    });
  }

  private async read<Body>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Body> {
    return (await (await this.send({ method: 'GET', path, query, signal })).json()) as Body;
  }

  private async *list<Item>(path: string, query: Query = {}): AsyncGenerator<Item> {
    let cursor: string | undefined;
    do {
      const page: Page<Item> = await this.read(path, { ...query, cursor });
      yield* page.items;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  private async write<Body>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    json: unknown,
    { ifMatch, idempotencyKey }: WriteOptions = {},
  ): Promise<Written<Body>> {
    const headers: Headers = {
      'if-match': ifMatch === undefined ? undefined : `"${ifMatch}"`,
      'idempotency-key': idempotencyKey,
    };
    const response = await this.send({ method, path, json, headers });
    const position = response.headers.get('escalon-position') ?? undefined;
    if (position !== undefined) this.remember(BigInt(position));
    const revision = response.headers.get('etag')?.replace(/^"|"$/g, '');
    return { body: (await response.json()) as Body, revision, position };
  }

  private remember(position: bigint): void {
    if (this.written === undefined || position > this.written) this.written = position;
  }
}
