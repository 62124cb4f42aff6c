import { InvalidCursor, pageLimit, pageOf, readCursor, readFilter, writeCursor } from '#read-store';
import { decisionEntity, executionEntity, jobTimelineEntity } from './tables.js';
import type { DataSource, ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { Page, PageRequest } from '#read-store';
import type { Decision } from '../domain/decision.js';
import type { ExecutionRow, JobTimelineRow } from './tables.js';

export interface TimelineRequest extends PageRequest {
  /** Only what happened to this try. */
  readonly execution?: string | undefined;
  /** Only events of this type. */
  readonly type?: string | undefined;
  /** Of which projects reruns may be named; undefined: of all. */
  readonly visible?: readonly string[] | undefined;
}

const OF_FAILURE = [
  ...(['executionId', 'partition', 'attempt', 'nodeId', 'endedAt'] as const),
  ...(['exitCode', 'failure', 'diagnostics', 'consumption'] as const),
] as const;

/** How a try failed, with what its node saw of it. */
export type FailedTry = Pick<ExecutionRow, (typeof OF_FAILURE)[number]>;

/** The parts of a timeline, one after the other: the job's own movements, then the submissions of its reruns. */
type Part = 'own' | 'again';

/**
 * What is recorded of one job, in pages; without a limit all of it. Every method throws `InvalidCursor` for a cursor that is
 * not its own.
 */
export class JobHistory {
  constructor(private readonly source: DataSource) {}

  /** Every movement, oldest first; after them, of each job that runs this one again, its submission. */
  async timeline(jobId: string, request: TimelineRequest): Promise<Page<JobTimelineRow>> {
    const { limit, cursor, visible } = request;
    const filter = { jobId, ...readFilter(request, ['execution', 'type']) };
    const size = sizeOf(limit);
    const [part, key] = placeOf(readCursor(cursor, filter, 2));
    const own = part === 'own' ? await this.movements(filter, key, size + 1).getMany() : [];
    const at = (where: Part, position: string): string => writeCursor([where, position], filter);
    if (own.length > size) return pageOf(own, size, ({ revision }) => at('own', revision));
    const left = size - own.length;
    const retold = await this.reruns(filter, part === 'again' ? key : BEFORE_ALL, left + 1, visible);
    const items = [...own, ...retold.slice(0, left)];
    const last = retold[left - 1]?.position ?? BEFORE_ALL;
    return { items, next: retold.length > left ? at('again', last) : null };
  }

  /** Every decision as it was recorded, oldest first. */
  async decisions(jobId: string, { limit, cursor }: PageRequest): Promise<Page<Decision>> {
    const filter = { decisionsOf: jobId };
    const size = sizeOf(limit);
    const query = this.source.getRepository(decisionEntity).createQueryBuilder('one').where({ jobId });
    const rows = await after(query, 'number', 'ASC', numberIn(readCursor(cursor, filter, 1)), size + 1).getMany();
    const { items, next } = pageOf(rows, size, ({ number }) => writeCursor([String(number)], filter));
    return { items: items.map(({ decision }) => decision), next };
  }

  async decision(jobId: string, number: number): Promise<Decision | undefined> {
    if (!Number.isInteger(number) || number < 1 || number > 2 ** 31 - 1) return undefined;
    const row = await this.source.getRepository(decisionEntity).findOne({ where: { jobId, number } });
    return row?.decision;
  }

  /** Every try, newest first. */
  async executions(jobId: string, { limit, cursor }: PageRequest): Promise<Page<ExecutionRow>> {
    const filter = { executionsOf: jobId };
    const size = sizeOf(limit);
    const query = this.source.getRepository(executionEntity).createQueryBuilder('one').where({ jobId });
    const from = numberIn(readCursor(cursor, filter, 1));
    const rows = await after(query, 'fencingToken', 'DESC', from, size + 1).getMany();
    return pageOf(rows, size, ({ fencingToken }) => writeCursor([String(fencingToken)], filter));
  }

  /** Whether the job ever had this try. */
  hasExecution(jobId: string, executionId: string): Promise<boolean> {
    return this.source.getRepository(executionEntity).existsBy({ jobId, executionId });
  }

  /** The newest try that failed on its node. */
  async lastFailure(jobId: string): Promise<FailedTry | undefined> {
    const query = this.source.getRepository(executionEntity).createQueryBuilder('one');
    const row = await query
      .select(OF_FAILURE.map((column) => `one.${column}`))
      .where({ jobId, state: 'failed' })
      .orderBy('one.fencingToken', 'DESC')
      .limit(1)
      .getOne();
    return row ?? undefined;
  }

  private movements(
    { jobId, execution, type }: { readonly jobId: string; readonly execution?: string; readonly type?: string },
    key: string,
    most: number,
  ): SelectQueryBuilder<JobTimelineRow> {
    const where = {
      jobId,
      ...(execution !== undefined && { executionId: execution }),
      ...(type !== undefined && { type }),
    };
    const query = this.source.getRepository(jobTimelineEntity).createQueryBuilder('one').where(where);
    return after(query, 'revision', 'ASC', key, most);
  }

  private async reruns(
    { jobId, execution, type }: { readonly jobId: string; readonly execution?: string; readonly type?: string },
    key: string,
    most: number,
    visible: readonly string[] | undefined,
  ): Promise<JobTimelineRow[]> {
    if (execution !== undefined || (type !== undefined && type !== 'JobSubmitted')) return [];
    const again = `SELECT job.id FROM jobs job WHERE job.rerun_of = :jobId${visible ? ' AND job.project = ANY(:visible)' : ''}`;
    const query = this.source
      .getRepository(jobTimelineEntity)
      .createQueryBuilder('one')
      .where(`one.revision = 0 AND one.job_id IN (${again})`, { jobId, visible });
    const rows = await after(query, 'position', 'ASC', key, most).getMany();
    return rows.map((row) => ({ ...row, title: `${row.actor} ran it again, as job ${row.jobId}` }));
  }
}

const BEFORE_ALL = '-1';
/** All of a job at once, where nobody asked for less. */
const EVERYTHING = 1_000_000;

const sizeOf = (limit: PageRequest['limit']): number => (limit === undefined ? EVERYTHING : pageLimit(limit));

const placeOf = (cursor: readonly string[] | undefined): readonly [Part, string] => {
  if (cursor === undefined) return ['own', BEFORE_ALL];
  const [part, key = ''] = cursor;
  if (part !== 'own' && part !== 'again') throw new InvalidCursor();
  return [part, numberIn([key]) ?? BEFORE_ALL];
};

const numberIn = (cursor: readonly string[] | undefined): string | undefined => {
  if (cursor === undefined) return undefined;
  const [key = ''] = cursor;
  if (!/^-?\d{1,18}$/.test(key)) throw new InvalidCursor();
  return key;
};

/** The rows that follow a key in an order, at most so many. */
const after = <Row extends ObjectLiteral>(
  query: SelectQueryBuilder<Row>,
  column: string,
  order: 'ASC' | 'DESC',
  key: string | undefined,
  most: number,
): SelectQueryBuilder<Row> => {
  if (key !== undefined) query.andWhere(`one.${column} ${order === 'ASC' ? '>' : '<'} :key`, { key });
  return query.orderBy(`one.${column}`, order).limit(most);
};
