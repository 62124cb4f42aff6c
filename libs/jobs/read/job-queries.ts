import { toInstant, toMillis } from '#kernel';
import type { Instant } from '#kernel';
import { InvalidCursor, InvalidFilter, pageLimit, pageOf, readCursor, readFilter, writeCursor } from '#read-store';
import { JobHistory } from './job-history.js';
import type { FailedTry } from './job-history.js';
import { waitsForJobs } from './reasons.js';
import { jobEntity } from './tables.js';
import type { DataSource, SelectQueryBuilder } from 'typeorm';
import type { Page, PageRequest, Tracked } from '#read-store';
import type { Dependency } from '../domain/job-spec.js';
import type { JobStateName } from '../domain/state.js';
import type { JobRow } from './tables.js';

/** Each that is given must hold; texts are compared exactly. */
export interface JobFilter {
  readonly state?: string | undefined;
  readonly project?: string | undefined;
  /** A node that any execution of the job was reserved on. */
  readonly node?: string | undefined;
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  /** RFC 3339: submitted then or later. */
  readonly since?: string | undefined;
}

export interface JobListRequest extends JobFilter, PageRequest {
  /** Only jobs of these projects; undefined: of all. */
  readonly visible?: readonly string[] | undefined;
}

export type JobSummary = Omit<JobRow, 'spec' | 'liveReserved' | 'livePaused'> & Tracked;

/** A job that another waits for. The state is null where the reader does not see that job, or it is not in the read model yet. */
export type AwaitedJob = Dependency & { readonly state: JobStateName | null };

/**
 * `reruns`: the jobs that run this one again, oldest first; `waitsFor`: what keeps it out of the queue, null when it is not kept;
 * `lastFailure`: the newest try that failed, if any did.
 */
export type JobDetails = JobSummary &
  Pick<JobRow, 'spec'> & {
    readonly reruns: readonly string[];
    readonly waitsFor: readonly AwaitedJob[] | null;
    readonly lastFailure: FailedTry | null;
  };

export type Shares = ReadonlyMap<string, number>;

export interface QueueRequest extends JobListRequest {
  /** By project, over its weight; one that is not named has none. A cursor brings those of its first page. */
  readonly shares?: Shares;
  /** Milliseconds of waiting that count as one more point of priority; none, when absent or 0. */
  readonly aging?: number;
  /** As of when the waiting counts. A cursor brings the moment of its first page. */
  readonly asOf?: Instant;
}

/** `shares`: those that the page is ordered by. */
export interface QueuePage extends Page<QueueEntry> {
  readonly shares: Shares;
}

/** What waits, in the order in which it is looked at. */
export interface QueueEntry {
  readonly jobId: string;
  readonly name: string;
  readonly project: string;
  readonly account: string;
  /** `blocked`: it waits for other jobs, and is looked at after all that is queued. */
  readonly state: JobStateName;
  readonly priority: number;
  readonly submittedAt: string;
  /** Of the state: it may have been tried before. */
  readonly since: string;
  readonly notBefore: string | null;
  readonly reason: string | null;
  readonly reasons: JobRow['waitingOn'];
  readonly waitsFor: readonly AwaitedJob[] | null;
  readonly attempt: number;
}

const BLOCKED = "(job.state = 'blocked')";
const SHARE = 'COALESCE((:shares::jsonb ->> job.project)::float8, 0)';
const MILLIS_WAITED = 'extract(epoch FROM (:asOf::timestamptz - job.submitted_at)) * 1000';
/** As the broker reckons it. */
const AGED = `(job.priority + COALESCE(greatest(0, floor(${MILLIS_WAITED} / NULLIF(:aging::numeric, 0))), 0))`;

const INTERNAL: readonly string[] = ['liveReserved', 'livePaused', 'recentEvents'];
const DETAILS = Object.keys(jobEntity.options.columns).filter((name) => !INTERNAL.includes(name));
const SUMMARY = DETAILS.filter((name) => name !== 'spec');

const selected = (names: readonly string[]): string[] => names.map((name) => `job.${name}`);

/** Reads the jobs' tables. */
export class JobQueries {
  /** What is recorded of one job. */
  readonly history: JobHistory;

  constructor(private readonly source: DataSource) {
    this.history = new JobHistory(source);
  }

  /** Newest first. Throws `InvalidCursor` or `InvalidFilter`. */
  async list({ limit, cursor, visible, ...request }: JobListRequest): Promise<Page<JobSummary>> {
    const filter = statedFilter(request);
    const size = pageLimit(limit);
    const after = readCursor(cursor, filter, 2);
    const query = this.jobs(SUMMARY)
      .orderBy('job.submittedAt', 'DESC')
      .addOrderBy('job.id', 'DESC')
      .limit(size + 1);
    narrow(query, filter, visible);
    if (after) {
      if (Number.isNaN(Date.parse(after[0] ?? ''))) throw new InvalidCursor();
      query.andWhere('(job.submitted_at, job.id) < (:submittedAt, :id)', { submittedAt: after[0], id: after[1] });
    }
    const rows: JobSummary[] = await query.getMany();
    return pageOf(rows, size, ({ submittedAt, id }) => writeCursor([submittedAt, id], filter));
  }

  /** `visible`: of which projects reruns may be named; undefined: of all. */
  async get(jobId: string, visible?: readonly string[]): Promise<JobDetails | undefined> {
    const job = await this.jobs(DETAILS).where('job.id = :jobId', { jobId }).getOne();
    if (!job) return undefined;
    const reruns = job.endedAt === null ? [] : await this.reruns(jobId, visible);
    const lastFailure = (await this.history.lastFailure(jobId)) ?? null;
    if (!job.blocked || job.endedAt !== null) return { ...job, reruns, waitsFor: null, lastFailure };
    const waitsFor = (await this.awaitedBy([job], visible)).get(jobId) ?? [];
    const reason = job.state === 'blocked' ? { reason: waitsForJobs(stillOpen(waitsFor)) } : {};
    return { ...job, reruns, waitsFor, lastFailure, ...reason };
  }

  /**
   * In the scheduler's order: the highest priority first, with its points for waiting, then the project with the smallest
   * of the given shares, then the job that was submitted first; what waits for other jobs comes after all that. All pages
   * of one reading keep the moment and the shares of the first, whatever is used meanwhile. Throws `InvalidCursor` or
   * `InvalidFilter`.
   */
  async queue({
    limit,
    cursor,
    visible,
    shares,
    aging = 0,
    asOf = NO_TIME,
    ...request
  }: QueueRequest): Promise<QueuePage> {
    const filter = readFilter(request, ['project']);
    const size = pageLimit(limit);
    const after = readCursor(cursor, filter, 7);
    const moment = after ? thawedMoment(after[5]) : asOf;
    const frozen = after ? thawedShares(after[6]) : frozenShares(shares, visible);
    const written = JSON.stringify(Object.fromEntries(frozen));
    const query = this.inOrder({ shares: written, aging, asOf: moment }).limit(size + 1);
    narrow(query, filter, visible);
    query.andWhere("job.state IN ('queued', 'blocked')");
    if (after) afterPlace(query, after);
    const rows = await query.getMany();
    const page = pageOf(rows, size, ({ state, priority, project, submittedAt, id }) => {
      const aged = String(priority + pointsFor(aging, submittedAt, moment));
      const share = String(frozen.get(project) ?? 0);
      return writeCursor([String(state === 'blocked'), aged, share, submittedAt, id, moment, written], filter);
    });
    const awaited = await this.awaitedOf(
      page.items.filter(({ state }) => state === 'blocked'),
      visible,
    );
    return { items: page.items.map((job) => queueEntry(job, awaited.get(job.id))), next: page.next, shares: frozen };
  }

  private inOrder(by: { readonly shares: string; readonly aging: number; readonly asOf: Instant }) {
    return this.jobs(SUMMARY)
      .addSelect(SHARE, 'project_share')
      .addSelect(AGED, 'aged_priority')
      .addSelect(BLOCKED, 'is_blocked')
      .setParameters(by)
      .orderBy('is_blocked', 'ASC')
      .addOrderBy('aged_priority', 'DESC')
      .addOrderBy('project_share', 'ASC')
      .addOrderBy('job.submittedAt', 'ASC')
      .addOrderBy('job.id', 'ASC');
  }

  private async awaitedOf(
    blocked: readonly { readonly id: string }[],
    visible: readonly string[] | undefined,
  ): Promise<ReadonlyMap<string, readonly AwaitedJob[]>> {
    if (blocked.length === 0) return new Map();
    const ids = blocked.map(({ id }) => id);
    return this.awaitedBy(await this.jobs(['id', 'spec']).where('job.id = ANY(:ids)', { ids }).getMany(), visible);
  }

  /** What each of these jobs waits for, as it stands now. */
  private async awaitedBy(
    jobs: readonly Pick<JobRow, 'id' | 'spec'>[],
    visible: readonly string[] | undefined,
  ): Promise<ReadonlyMap<string, readonly AwaitedJob[]>> {
    const ids = [...new Set(jobs.flatMap(({ spec }) => spec.dependsOn.map(({ job }) => job)))];
    const query = this.jobs(['id', 'state']).where('job.id = ANY(:ids)', { ids });
    if (visible) query.andWhere('job.project = ANY(:visible)', { visible });
    const states = new Map((await query.getMany()).map(({ id, state }) => [id, state]));
    const awaited = ({ spec }: Pick<JobRow, 'spec'>) =>
      spec.dependsOn.map((one): AwaitedJob => ({ ...one, state: states.get(one.job) ?? null }));
    return new Map(jobs.map((job) => [job.id, awaited(job)]));
  }

  private async reruns(jobId: string, visible: readonly string[] | undefined): Promise<readonly string[]> {
    const query = this.jobs(['id']).where('job.rerun_of = :jobId', { jobId });
    if (visible) query.andWhere('job.project = ANY(:visible)', { visible });
    return (await query.orderBy('job.submittedAt').addOrderBy('job.id').getMany()).map(({ id }) => id);
  }

  private jobs(columns: readonly string[]): SelectQueryBuilder<JobRow & Tracked> {
    return this.source.getRepository(jobEntity).createQueryBuilder('job').select(selected(columns));
  }
}

const FILTERS = ['state', 'project', 'node', 'name', 'type', 'since'] as const;

const statedFilter = (request: JobFilter): JobFilter => {
  const filter = readFilter(request, FILTERS);
  if (filter.since !== undefined && Number.isNaN(Date.parse(filter.since))) {
    throw new InvalidFilter('since must be a time, such as 2026-11-29T20:11:05.123Z');
  }
  return filter;
};

const narrow = (
  query: SelectQueryBuilder<JobRow & Tracked>,
  { node, since, ...equal }: JobFilter,
  visible: readonly string[] | undefined,
): void => {
  query.where('TRUE');
  for (const [name, value] of Object.entries(equal)) {
    if (value !== undefined) query.andWhere(`job.${name} = :${name}`, { [name]: value });
  }
  if (since !== undefined) query.andWhere('job.submitted_at >= :since', { since });
  if (visible) query.andWhere('job.project = ANY(:visible)', { visible });
  if (node !== undefined) {
    query.andWhere('EXISTS (SELECT 1 FROM executions e WHERE e.job_id = job.id AND e.node_id = :node)', { node });
  }
};

/** A cursor stays short enough for an address: beyond these, the projects with the smallest shares count as having none. */
const MOST_SHARES = 100;

/**
 * What a cursor carries: shares move with each moment and each execution, and an order that moves between two pages
 * shows jobs twice or never. Six digits tell projects apart.
 */
const frozenShares = (shares: Shares = new Map(), visible: readonly string[] | undefined): Shares => {
  const held = [...shares].filter(([project, share]) => share > 0 && (visible?.includes(project) ?? true));
  const largest = held.sort(([, left], [, right]) => right - left).slice(0, MOST_SHARES);
  return new Map(largest.map(([project, share]) => [project, Number(share.toPrecision(6))]));
};

const thawedShares = (written = ''): Shares => {
  const shares = new Map(Object.entries(asObject(written)));
  if ([...shares.values()].some((share) => !Number.isFinite(share))) throw new InvalidCursor();
  return shares as Shares;
};

const NO_TIME = toInstant(0);

const thawedMoment = (written = ''): Instant => {
  const moment = Date.parse(written);
  if (Number.isNaN(moment)) throw new InvalidCursor();
  return toInstant(moment);
};

const pointsFor = (aging: number, submittedAt: Instant, asOf: Instant): number =>
  aging > 0 ? Math.max(0, Math.floor((toMillis(asOf) - toMillis(submittedAt)) / aging)) : 0;

const asObject = (written: string): object => {
  try {
    const value: unknown = JSON.parse(written);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Answered below, like all else that is no cursor of ours.
  }
  throw new InvalidCursor();
};

const afterPlace = (query: SelectQueryBuilder<JobRow & Tracked>, after: readonly string[]): void => {
  const [blocked, priority, share, submittedAt, id] = after;
  const broken = [Number(priority), Number(share), Date.parse(submittedAt ?? '')].some(Number.isNaN);
  if (broken || !['true', 'false'].includes(blocked ?? '')) throw new InvalidCursor();
  query.andWhere(
    `(${BLOCKED}, -${AGED}, ${SHARE}, job.submitted_at, job.id) > (:blocked::boolean, -:priority::numeric, :share::float8, :submittedAt::timestamptz, :id)`,
    { blocked, priority, share, submittedAt, id },
  );
};

const ENDS: readonly (JobStateName | null)[] = ['completed', 'failed', 'cancelled'];

/** Those that have not ended; all of them in the moment between the last end and what follows from it. */
const stillOpen = (awaited: readonly AwaitedJob[]): readonly AwaitedJob[] => {
  const open = awaited.filter(({ state }) => !ENDS.includes(state));
  return open.length > 0 ? open : awaited;
};

const queueEntry = (job: JobRow, awaited?: readonly AwaitedJob[]): QueueEntry => {
  const { name, project, account, state, priority, submittedAt, notBefore, attempt } = job;
  return {
    jobId: job.id,
    name,
    project,
    account,
    state,
    priority,
    submittedAt,
    since: job.stateSince,
    notBefore,
    reason: awaited ? waitsForJobs(stillOpen(awaited)) : job.reason,
    reasons: job.waitingOn,
    waitsFor: awaited ?? null,
    attempt,
  };
};
