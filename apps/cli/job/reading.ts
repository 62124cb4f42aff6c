import { formatBytes } from '#contracts';
import { itemsOf } from '../client/items.js';
import { usage } from '../exit-codes.js';
import { writeList, writeOne } from '../output/format.js';
import { cell, viewFields, viewsTable } from '../output/sections.js';
import { renderTable } from '../output/table.js';
import { download } from './download.js';
import { eventLine } from './event-line.js';
import { eventsOf } from './follow.js';
import type { Artifact, Decision } from '#contracts';
import type { Query } from '../client/api.js';
import type { Session } from '../client/session.js';

type View = Readonly<Record<string, unknown>>;

const jobPath = (id: string, rest = ''): string => `/jobs/${encodeURIComponent(id)}${rest}`;

/** Columns of the list; the id is last, so that it can be copied whole. */
const JOB_COLUMNS = [
  ['state', 'state'],
  ['name', 'name'],
  ['project', 'project'],
  ['node', 'nodeId'],
  ['submitted', 'submittedAt'],
  ['id', 'id'],
] as const;

export const listJobs = async (session: Session<Query & { limit: number }>): Promise<void> => {
  const { api, io, output, flags } = session;
  const { state, project, node, name, type, since, limit } = flags;
  const jobs = await api.list<View>('/jobs', { state, project, node, name, type, since }, limit);
  writeList(io.out, output, jobs, () => viewsTable(JOB_COLUMNS, jobs));
};

export const showJob = async (id: string, { api, io, output }: Session<object>): Promise<void> => {
  const job = await api.get<View>(jobPath(id));
  const first = ['id', 'name', 'state', 'project', 'account', 'nodeId'];
  writeOne(io.out, output, job, () => viewFields(job, first));
};

/** A recorded decision, with the server's explanation of it in words. */
interface ExplainedDecision extends Decision {
  readonly explanation: unknown;
}

export const explainJob = async (
  id: string,
  { api, io, output, flags }: Session<{ decision?: number; node?: string }>,
): Promise<void> => {
  const number = flags.decision ?? (await lastDecision(id, api.get(jobPath(id, '/decisions'))));
  const decision = await api.get<ExplainedDecision>(jobPath(id, `/decisions/${number}`), { node: flags.node });
  writeOne(io.out, output, decision, () => explained(decision));
};

const lastDecision = async (
  id: string,
  answer: Promise<readonly Decision[] | { items: readonly Decision[] }>,
): Promise<number> => {
  const last = itemsOf(await answer).at(-1);
  if (!last) throw usage(`no decision is recorded for ${id} yet`);
  return last.number;
};

const explained = (decision: ExplainedDecision): string => {
  const { explanation, ranking } = decision;
  const lines = Array.isArray(explanation)
    ? explanation.map((line) => `  ${cell(line)}\n`).join('')
    : `  ${cell(explanation)}\n`;
  const head = `decision ${decision.number} of ${decision.time}, on ${decision.trigger}\n${lines}`;
  if (ranking.length === 0) return head;
  const factors = ['resources', 'reliability', 'availability', 'queue', 'cost'] as const;
  const rows = ranking.map((one) => [
    one.nodeId,
    one.score.toFixed(3),
    ...factors.map((factor) => `${one.factors[factor].value.toFixed(2)} × ${one.factors[factor].weight}`),
  ]);
  return `${head}\n${renderTable(['node', 'score', ...factors], rows)}`;
};

export const showHistory = async (id: string, { api, io, output }: Session<object>): Promise<void> => {
  const events = await eventsOf(api, id);
  const rows = (): string[][] =>
    events.map((event) => [event.revision, event.recordedAt, event.type, eventLine(event)]);
  writeList(io.out, output, events, () => renderTable(['revision', 'time', 'event', 'what happened'], rows()));
};

interface Result {
  readonly executionId: string;
  readonly attempt: number;
  readonly nodeId: string;
  readonly state: string;
  readonly exitCode: number | null;
  readonly artifacts: readonly Artifact[];
}

export const showResults = async (id: string, session: Session<{ download?: string }>): Promise<void> => {
  const { api, io, output, flags } = session;
  const results = itemsOf(await api.get<{ items: readonly Result[] }>(jobPath(id, '/results')));
  writeList(io.out, output, results, () => resultsTable(results));
  if (flags.download === undefined) return;
  const succeeded = results.filter(({ state }) => state === 'succeeded');
  for (const { artifacts } of succeeded) {
    for (const artifact of artifacts) io.err.write(`${await download(api, artifact, flags.download)}\n`);
  }
};

const resultsTable = (results: readonly Result[]): string => {
  const rows = results.flatMap(({ attempt, nodeId, state, exitCode, artifacts }) => {
    const tried = [String(attempt), nodeId, state, cell(exitCode)];
    if (artifacts.length === 0) return [[...tried, '–', '–', '–']];
    return artifacts.map(({ path, size, sha256 }) => [...tried, formatBytes(size), path, sha256]);
  });
  return renderTable(['attempt', 'node', 'state', 'exit', 'size', 'artifact', 'sha256'], rows);
};
