import { join } from 'node:path';
import { formatBytes } from '#contracts';
import { usage } from '../exit-codes.js';
import { take } from '../client/session.js';
import { writeList, writeOne } from '../output/format.js';
import { cell, viewFields, viewsTable } from '../output/sections.js';
import { renderTable } from '../output/table.js';
import { download } from './download.js';
import { explained } from './explained.js';
import { failedTry } from './failed-try.js';
import type { Movement } from './follow.js';
import type { EscalonClient, JobFilter, JobView, ResultView } from '#contracts';
import type { Session } from '../client/session.js';

/** Columns of the list; the id is last, so that it can be copied whole. */
const JOB_COLUMNS = [
  ['state', 'state'],
  ['name', 'name'],
  ['project', 'project'],
  ['parts', 'parts'],
  ['node', 'nodeId'],
  ['submitted', 'submittedAt'],
  ['id', 'id'],
] as const;

export const listJobs = async (session: Session<JobFilter & { limit: number }>): Promise<void> => {
  const { client, io, output, flags } = session;
  const names = ['state', 'project', 'node', 'name', 'type', 'since'] as const;
  const given = names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]]));
  const jobs = await take(client.listJobs(Object.fromEntries(given) as JobFilter), flags.limit);
  writeList(io.out, output, jobs, () =>
    viewsTable(
      JOB_COLUMNS,
      jobs.map((job) => ({ ...job, parts: partsOf(job) })),
    ),
  );
};

/** How far it is: of how many parts how many are done, or run where nothing is ever done. */
const partsOf = ({ type, count, succeeded, liveRunning, failedPartitions }: JobView): string => {
  const endless = type === 'service' || type === 'daemon';
  const failed =
    Array.isArray(failedPartitions) && failedPartitions.length > 0 ? `, ${failedPartitions.length} failed` : '';
  return `${cell(endless ? liveRunning : succeeded)}/${cell(count)}${endless ? ' running' : ''}${failed}`;
};

const SHOWN_FIRST = ['id', 'name', 'state', 'reason', 'project', 'account', 'nodeId', 'progress'];

export const showJob = async (id: string, { client, io, output }: Session<object>): Promise<void> => {
  const { spec, lastFailure, ...job } = await client.getJob(id);
  const labels = job.labels as object | undefined;
  const { image } = (spec as { readonly task?: { readonly image?: string } } | undefined)?.task ?? {};
  const shown = { ...job, labels: Object.keys(labels ?? {}).length > 0 ? labels : undefined, image };
  const all = { ...job, lastFailure, spec };
  writeOne(io.out, output, all, () => viewFields(shown, SHOWN_FIRST) + failedTry(lastFailure));
};

export const explainJob = async (
  id: string,
  { client, io, output, flags }: Session<{ decision?: number; node?: string }>,
): Promise<void> => {
  const number = flags.decision ?? (await lastDecision(id, client));
  if (number === undefined) {
    const { state, reason, waitsFor } = await client.getJob(id);
    if (state !== 'blocked') throw usage(`no decision is recorded for ${id} yet`);
    writeOne(io.out, output, { id, state, reason, waitsFor }, () => `${state}: ${cell(reason)}\n`);
    return;
  }
  const decision = await client.decision(id, number, flags.node);
  if (isUnknown(decision.node)) throw usage(`error: ${[decision.explanation].flat().map(cell).join('\n')}`);
  const head = `decision ${decision.number} of ${decision.time}, on ${decision.trigger}\n`;
  const asked = flags.decision !== undefined || flags.node !== undefined || output !== 'table';
  const since = asked ? '' : failedTry((await client.getJob(id)).lastFailure);
  writeOne(io.out, output, decision, () => head + explained(decision) + since);
};

const isUnknown = (node: unknown): boolean => (node as { readonly kind?: string } | undefined)?.kind === 'unknown';

/** What waits for other jobs has none. */
const lastDecision = async (id: string, client: EscalonClient): Promise<number | undefined> =>
  (await client.decisions(id)).items.at(-1)?.number;

const HISTORY_COLUMNS = [
  ['revision', 'revision'],
  ['time', 'at'],
  ['event', 'type'],
  ['what happened', 'title'],
] as const;

export interface HistoryFlags {
  readonly execution?: string;
  readonly type?: string;
  readonly limit?: number;
}

export const showHistory = async (id: string, session: Session<HistoryFlags>): Promise<void> => {
  const { client, io, output, flags } = session;
  const { execution, type, limit = Infinity } = flags;
  const filter = { ...(execution !== undefined && { execution }), ...(type !== undefined && { type }) };
  const movements: Movement[] = [];
  for await (const movement of client.history(id, filter)) {
    movements.push(movement as Movement);
    if (movements.length >= limit) break;
  }
  const views = movements.map((movement) => ({ ...movement }));
  writeList(io.out, output, movements, () => viewsTable(HISTORY_COLUMNS, views));
};

export interface ResultFlags {
  readonly download?: string;
  readonly failed?: boolean;
}

export const showResults = async (id: string, session: Session<ResultFlags>): Promise<void> => {
  const { client, io, output, flags } = session;
  if (flags.failed && flags.download === undefined) throw usage('error: --failed says what to bring; add --download');
  const { items: results } = await client.results(id);
  writeList(io.out, output, results, () => resultsTable(results));
  if (flags.download === undefined) return;
  const several = results.some(({ partition }) => partition > 0) || Number((await client.getJob(id)).count) > 1;
  for (const result of results) {
    const folder = folderOf(result, several, flags.failed === true);
    if (folder === undefined) continue;
    for (const artifact of result.artifacts) {
      io.err.write(`${await download(client, artifact, join(flags.download, folder))}\n`);
    }
  }
};

/**
 * Below the folder asked for, so that no try's files take the place of another's: each partition and each failed try has
 * its own.
 */
const folderOf = (
  { state, partition, executionId }: ResultView,
  several: boolean,
  failed: boolean,
): string | undefined => {
  if (state === 'succeeded') return several ? String(partition) : '.';
  return failed ? join('failed', executionId) : undefined;
};

const resultsTable = (results: readonly ResultView[]): string => {
  const rows = results.flatMap(({ attempt, nodeId, state, exitCode, artifacts }) => {
    const tried = [String(attempt), nodeId, state, cell(exitCode)];
    if (artifacts.length === 0) return [[...tried, '–', '–', '–']];
    return artifacts.map(({ path, size, sha256 }) => [...tried, formatBytes(size), path, sha256]);
  });
  return renderTable(['attempt', 'node', 'state', 'exit', 'size', 'artifact', 'sha256'], rows);
};
