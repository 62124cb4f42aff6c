import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jobDecider, jobStream } from '#jobs';
import { plusSeconds } from '#kernel';
import { nodeStream } from '#nodes';
import { NodeQueries, nodeEntities, nodesProjection } from '#nodes/read';
import { projectStream } from '#projects';
import { ProjectQueries, projectEntities, projectsProjection } from '#projects/read';
import { InvalidCursor, InvalidFilter, openReadStore, poolOf } from '#read-store';
import { applyAll, projectInMemory, recordedLog, startTestPostgres, storedContents } from '#read-store/testing';
import {
  aConfirmation,
  aContract,
  aDecision,
  aGpu,
  aJobSpec,
  aPlacement,
  aReport,
  aSubmission,
  aSuccess,
  anInventory,
  second,
} from '#testing';
import { JobQueries, jobEntities, jobsProjection } from './index.js';
import type { DataSource } from 'typeorm';
import type { RecordedEvent } from '#event-store';
import type { JobCommand, JobEvent } from '#jobs';
import type { NodeEvent } from '#nodes';
import type { TestPostgres } from '#read-store/testing';

/** The events that commands lead to, each decided on what the ones before left. */
const historyOf = (commands: readonly JobCommand[]): JobEvent[] => {
  let state = jobDecider.initialState();
  return commands.flatMap((command) => {
    const decision = jobDecider.decide(command, state);
    if (decision.kind === 'rejected') throw new Error(decision.rejection.message);
    for (const event of decision.events) state = jobDecider.evolve(state, event);
    return decision.events;
  });
};

const submission = (index: number): JobCommand =>
  aSubmission({
    jobId: `job-${index}`,
    account: index % 2 === 0 ? 'ana' : 'bia',
    spec: aJobSpec({
      name: `name-${index % 3}`,
      project: index % 2 === 0 ? 'demo' : 'reef',
      priority: (index * 37) % 101,
      labels: { index: String(index) },
    }),
    ...(index === 2 || index === 3 ? { rerunOf: 'job-0' } : {}),
    at: plusSeconds(second(0), Math.floor(index / 2)),
  });

const completed: readonly JobCommand[] = [
  submission(0),
  aPlacement(1, 1, { jobId: 'job-0' }),
  aConfirmation(1, 2, { jobId: 'job-0' }),
  aReport(1, 3, { type: 'start' }, { jobId: 'job-0' }),
  aSuccess(1, 9, { jobId: 'job-0' }),
];

const deferral: JobEvent = {
  type: 'PlacementDecided',
  data: aDecision({
    outcome: 'deferred',
    considered: 2,
    eligible: 0,
    filtered: [
      { reason: 'capacity.memory', side: 'job', never: false, nodes: 2, also: 0, asked: '64 GiB', best: '16 GiB' },
    ],
  }),
};

const nodeEvents: readonly NodeEvent[] = [
  {
    type: 'NodeEnrolled',
    data: {
      nodeId: 'node-1',
      name: 'node-1',
      owner: 'olga',
      institution: 'usp',
      inventory: anInventory({ gpus: [aGpu()] }),
      policy: {},
      at: second(0),
    },
  },
  { type: 'NodeWentOnline', data: { at: second(1) } },
  {
    type: 'CapacityReserved',
    data: {
      executionId: 'job-0.1',
      jobId: 'job-0',
      project: 'demo',
      contract: aContract({ cpu: 1.5, gpus: [{ id: 'gpu-0', share: 0.25, memory: 1024 }] }),
      expiresAt: second(15),
      at: second(1),
    },
  },
];

const COUNT = 25;

describe('the queries', () => {
  let postgres: TestPostgres;
  let source: DataSource;
  let jobs: JobQueries;
  let log: RecordedEvent[];

  beforeAll(async () => {
    postgres = await startTestPostgres();
    const entities = [...jobEntities, ...nodeEntities, ...projectEntities];
    source = await openReadStore({ url: await postgres.database(), entities });
    jobs = new JobQueries(source);
    const entries: [string, { type: string; data: object }][] = historyOf(completed).map((event) => [
      jobStream('job-0'),
      event,
    ]);
    for (let index = 1; index < COUNT; index += 1) {
      for (const event of historyOf([submission(index)])) entries.push([jobStream(`job-${index}`), event]);
    }
    entries.push([jobStream('job-1'), deferral]);
    entries.push(...nodeEvents.map((event): [string, NodeEvent] => [nodeStream('node-1'), event]));
    const configured = {
      projectId: 'demo',
      institution: 'usp',
      members: ['*'],
      quota: { cpu: 8 },
      weight: 2,
      at: second(0),
    };
    entries.push([projectStream('demo'), { type: 'ProjectConfigured', data: configured }]);
    log = recordedLog(entries);
    await applyAll(poolOf(source), [jobsProjection, nodesProjection, projectsProjection], log);
  });
  afterAll(async () => {
    await source.destroy();
    await postgres.stop();
  });

  it('store exactly what the folds give', async () => {
    for (const projection of [jobsProjection, nodesProjection, projectsProjection]) {
      const events = log.filter(({ stream }) => projection.prefixes.some((prefix) => stream.startsWith(prefix)));
      expect(await storedContents(poolOf(source), projection)).toEqual(projectInMemory(projection, events));
    }
  });

  it('lists jobs newest first, page by page, each once', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await jobs.list({ limit: '4', cursor });
      expect(page.items.length).toBeLessThanOrEqual(4);
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(COUNT);
    expect(seen).toHaveLength(COUNT);
    const [first, last] = [await jobs.get(seen[0]!), await jobs.get(seen.at(-1)!)];
    expect(first!.submittedAt >= last!.submittedAt).toBe(true);
  });

  it('lists by state, project, node, name, type and time', async () => {
    const ids = async (filter: object): Promise<string[]> =>
      (await jobs.list({ ...filter, limit: 200 })).items.map(({ id }) => id);
    expect(await ids({ state: 'completed' })).toEqual(['job-0']);
    expect(await ids({ node: 'node-1' })).toEqual(['job-0']);
    expect(await ids({ node: 'node-2' })).toEqual([]);
    expect(await ids({ project: 'reef' })).toHaveLength(12);
    expect(await ids({ name: 'name-0' })).toHaveLength(9);
    expect(await ids({ name: 'name' })).toHaveLength(0);
    expect(await ids({ type: 'service' })).toHaveLength(0);
    expect(await ids({ since: second(12) })).toEqual(['job-24']);
    expect(await ids({ project: 'reef', name: 'name-0', state: 'queued' })).toHaveLength(4);
    expect(await ids({ visible: ['reef'], name: 'name-0' })).toHaveLength(4);
    expect(await ids({ visible: [] })).toEqual([]);
  });

  it('refuses a cursor of another list and a condition that makes no sense', async () => {
    const { next } = await jobs.list({ limit: 1 });
    await expect(jobs.list({ cursor: next!, project: 'demo' })).rejects.toBeInstanceOf(InvalidCursor);
    await expect(jobs.list({ cursor: 'garbage' })).rejects.toBeInstanceOf(InvalidCursor);
    await expect(jobs.list({ since: 'yesterday' })).rejects.toBeInstanceOf(InvalidFilter);
    await expect(jobs.list({ state: ['queued'] as unknown as string })).rejects.toBeInstanceOf(InvalidFilter);
  });

  it('shows a job with its spec, its instants in the kernel’s form and its revision as text', async () => {
    const job = await jobs.get('job-0');
    expect(job).toMatchObject({
      state: 'completed',
      progress: 1,
      attempt: 1,
      nodeId: 'node-1',
      submittedAt: second(0),
    });
    expect(job).toMatchObject({ endedAt: second(9), spec: { name: 'name-0' }, labels: { index: '0' } });
    expect(job!.revision).toBe(String(historyOf(completed).length - 1));
    expect(job).not.toHaveProperty('recentEvents');
    expect(job).not.toHaveProperty('liveReserved');
    expect((await jobs.list({ state: 'completed' })).items[0]).not.toHaveProperty('spec');
    expect(await jobs.get('nobody')).toBeUndefined();
  });

  it('shows movements, decisions and tries', async () => {
    const timeline = (await jobs.history.timeline('job-0', {})).items.filter(({ jobId }) => jobId === 'job-0');
    expect(timeline.map(({ revision }) => revision)).toEqual(timeline.map((_row, index) => String(index)));
    expect(timeline.at(-1)).toMatchObject({ type: 'JobCompleted', title: 'Completed', actor: 'ana', at: second(9) });
    expect((await jobs.history.decisions('job-1', {})).items).toEqual([deferral.data]);
    expect(await jobs.history.decision('job-1', 1)).toEqual(deferral.data);
    expect(await jobs.history.decision('job-1', 2)).toBeUndefined();
    expect(await jobs.history.decision('job-1', Number.NaN)).toBeUndefined();
    const [execution] = (await jobs.history.executions('job-0', {})).items;
    expect(execution).toMatchObject({
      executionId: 'job-0.1',
      state: 'succeeded',
      startedAt: second(3),
      endedAt: second(9),
    });
    expect(await jobs.history.hasExecution('job-0', 'job-0.1')).toBe(true);
    expect(await jobs.history.hasExecution('job-1', 'job-0.1')).toBe(false);
  });

  it('E-06 shows which jobs run it again, and which it runs again', async () => {
    const told = async (visible?: string[]) =>
      (await jobs.history.timeline('job-0', { visible })).items
        .filter(({ jobId }) => jobId !== 'job-0')
        .map(({ title }) => title);
    expect(await jobs.get('job-0')).toMatchObject({ rerunOf: null, reruns: ['job-2', 'job-3'] });
    expect(await jobs.get('job-0', ['demo'])).toMatchObject({ reruns: ['job-2'] });
    expect(await jobs.get('job-2')).toMatchObject({ rerunOf: 'job-0', reruns: [] });
    expect(await told()).toEqual(['ana ran it again, as job job-2', 'ana ran it again, as job job-3']);
    expect(await told(['reef'])).toEqual(['ana ran it again, as job job-3']);
    expect((await jobs.history.timeline('job-2', {})).items.map(({ title }) => title)).toEqual([
      'ana submitted the job to project demo, as a rerun of job-0',
    ]);
  });

  it('E-06 shows history by try and by type, and all of it page by page', async () => {
    const { history } = jobs;
    const all = (await history.timeline('job-0', {})).items;
    const own = all.filter(({ jobId }) => jobId === 'job-0');
    const ofTry = (await history.timeline('job-0', { execution: 'job-0.1' })).items;
    expect(ofTry).toEqual(own.filter(({ executionId }) => executionId === 'job-0.1'));
    expect(ofTry.length).toBeGreaterThan(2);
    expect((await history.timeline('job-0', { type: 'JobCompleted' })).items).toEqual([own.at(-1)]);
    const submissions = (await history.timeline('job-0', { type: 'JobSubmitted' })).items;
    expect(submissions.map(({ jobId }) => jobId)).toEqual(['job-0', 'job-2', 'job-3']);
    expect(await history.timeline('job-0', { execution: 'job-0.9' })).toEqual({ items: [], next: null });
    for (const limit of [1, 2, own.length, all.length - 1, all.length, 200]) {
      const pages: (typeof all)[number][] = [];
      let [cursor, reads]: [string | undefined, number] = [undefined, 0];
      do {
        const page: Awaited<ReturnType<typeof history.timeline>> = await history.timeline('job-0', { limit, cursor });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        pages.push(...page.items);
        [cursor, reads] = [page.next ?? undefined, reads + 1];
      } while (cursor !== undefined && reads <= all.length);
      expect(pages).toEqual(all);
    }
    const { next } = await history.timeline('job-0', { limit: 1 });
    await expect(history.timeline('job-2', { cursor: next! })).rejects.toBeInstanceOf(InvalidCursor);
    await expect(history.timeline('job-0', { type: 'JobCompleted', cursor: next! })).rejects.toThrow(InvalidCursor);
    await expect(history.executions('job-0', { cursor: next! })).rejects.toBeInstanceOf(InvalidCursor);
    expect(await history.executions('job-0', { limit: 1 })).toMatchObject({ items: [{ jobId: 'job-0' }], next: null });
    expect((await history.decisions('job-1', { limit: 1 })).next).toBeNull();
  });

  it('A-20 A-98 shows the queue by priority, share of the project and age, page by page', async () => {
    const shares = new Map([
      ['demo', 0.25],
      ['reef', 0.125],
    ]);
    const all = (await jobs.queue({ limit: 200, shares })).items;
    expect(all).toHaveLength(COUNT - 1);
    const order = all.map(({ priority, project, submittedAt }) => {
      return `${String(1000 - priority)} ${(shares.get(project) ?? 0).toFixed(3)} ${submittedAt}`;
    });
    expect(order).toEqual([...order].sort());
    const pages: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await jobs.queue({ limit: 5, cursor, shares });
      pages.push(...page.items.map(({ jobId }) => jobId));
      if (page.next === null) break;
      cursor = page.next;
    }
    expect(pages).toEqual(all.map(({ jobId }) => jobId));
    const waiting = all.find(({ jobId }) => jobId === 'job-1');
    expect(waiting?.reason).toMatch(/64 GiB/);
    expect(waiting?.reasons).toEqual((deferral.data as { filtered: unknown }).filtered);
    expect((await jobs.queue({ project: 'reef' })).items.every(({ project }) => project === 'reef')).toBe(true);
  });

  it('A-20 A-98 keeps the order of the first page while the shares move', async () => {
    const first = await jobs.queue({ limit: 200, shares: new Map([['demo', 0.25]]) });
    const pages: string[] = [];
    let [cursor, turn]: [string | undefined, number] = [undefined, 0];
    do {
      // What decays, grows and changes places between two pages.
      const moved = turn === 0 ? 0.25 : 0.25 / 2 ** turn;
      const shares = new Map([
        ['demo', moved],
        ['reef', turn === 0 ? 0 : 0.1 + turn],
      ]);
      const page: Awaited<ReturnType<typeof jobs.queue>> = await jobs.queue({ limit: 3, cursor, shares });
      pages.push(...page.items.map(({ jobId }) => jobId));
      [cursor, turn] = [page.next ?? undefined, turn + 1];
    } while (cursor !== undefined && turn < 2 * COUNT);
    expect(pages).toEqual(first.items.map(({ jobId }) => jobId));
  });

  it('B-64 A-20 counts what a job has waited, as of the moment of the first page', async () => {
    const aging = 100;
    const points = (submittedAt: string): number =>
      Math.floor((Date.parse(second(600)) - Date.parse(submittedAt)) / aging);
    const all = (await jobs.queue({ limit: 200, aging, asOf: second(600) })).items;
    const order = all.map(
      ({ priority, submittedAt }) => `${String(100_000 - priority - points(submittedAt))} ${submittedAt}`,
    );
    expect(order).toEqual([...order].sort());
    const strict = (await jobs.queue({ limit: 200 })).items;
    expect(all.map(({ jobId }) => jobId)).not.toEqual(strict.map(({ jobId }) => jobId));
    const pages: string[] = [];
    let cursor: string | undefined;
    do {
      const page: Awaited<ReturnType<typeof jobs.queue>> = await jobs.queue({
        limit: 4,
        cursor,
        aging,
        asOf: second(9_000 + pages.length),
      });
      pages.push(...page.items.map(({ jobId }) => jobId));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    const late = (await jobs.queue({ limit: 200, aging, asOf: second(9_000) })).items;
    expect(pages).toEqual(late.map(({ jobId }) => jobId));
  });

  it('A-98 carries the shares of a hundred projects at most, and refuses a cursor that was tampered with', async () => {
    const shares = new Map(Array.from({ length: 500 }, (_, index) => [`${'p'.repeat(60)}${index}`, 1 / (index + 3)]));
    const { next, shares: kept } = await jobs.queue({ limit: 1, shares });
    expect(kept.size).toBe(100);
    expect(next!.length).toBeLessThan(12_000);
    expect((await jobs.queue({ limit: 1, cursor: next! })).shares).toEqual(kept);
    const parts = JSON.parse(Buffer.from(next!, 'base64url').toString()) as string[];
    for (const wrong of ['', '5', '[]', 'null', '{"demo":"x"}']) {
      const cursor = Buffer.from(JSON.stringify([...parts.slice(0, -1), wrong])).toString('base64url');
      await expect(jobs.queue({ cursor })).rejects.toBeInstanceOf(InvalidCursor);
    }
  });

  it('shows nodes with what is reserved and free, and when they were seen', async () => {
    const nodes = new NodeQueries(source);
    await source.query(`INSERT INTO node_presence VALUES ('node-1', '${second(30)}', '{"load": 1}')`);
    const { items, next } = await nodes.list({});
    expect(next).toBeNull();
    expect(items[0]).toMatchObject({
      id: 'node-1',
      state: 'online',
      executions: 1,
      lastSeenAt: second(30),
      revision: '2',
    });
    expect(items[0]?.capacity.reserved).toMatchObject({ cpu: 1.5, gpus: [{ id: 'gpu-0', share: 0.25, memory: 1024 }] });
    expect(items[0]?.capacity.free).toMatchObject({ cpu: 6.5, gpus: [{ id: 'gpu-0', share: 0.75 }] });
    expect((await nodes.get('node-1'))?.claims).toMatchObject([{ executionId: 'job-0.1', releasedAt: null }]);
    expect((await nodes.timeline('node-1')).items.map(({ title }) => title)).toEqual([
      'Enrolled for olga of usp',
      'Came online',
    ]);
    expect(await nodes.get('nobody')).toBeUndefined();
  });

  it('G-55 A-98 shows what waits for other jobs last in the queue, with the jobs that it waits for as they are', async () => {
    const own = await openReadStore({ url: await postgres.database(), entities: jobEntities });
    const queries = new JobQueries(own);
    const submit = (jobId: string, project: string, priority: number, ...parents: readonly string[]): JobCommand => {
      const dependsOn = parents.map((job) => ({ job, when: 'completed' as const }));
      return aSubmission({ jobId, spec: aJobSpec({ project, priority, dependsOn }) });
    };
    const histories: Readonly<Record<string, readonly JobCommand[]>> = {
      done: [...completed.map((one) => ({ ...one, jobId: 'done' }) as JobCommand)],
      secret: [submit('secret', 'reef', 1)],
      first: [submit('first', 'demo', 2)],
      urgent: [submit('urgent', 'demo', 99, 'done', 'first', 'secret')],
      late: [submit('late', 'demo', 50, 'urgent')],
      held: [submit('held', 'demo', 50, 'late'), { type: 'PauseJob', reason: 'lunch', at: second(1) }],
    };
    const entries = Object.entries(histories).flatMap(([jobId, commands]) =>
      historyOf(commands).map((event): [string, JobEvent] => [jobStream(jobId), event]),
    );
    await applyAll(poolOf(own), [jobsProjection], recordedLog(entries));
    const visible = ['demo'];
    const { items } = await queries.queue({ visible });
    expect(items.map(({ jobId, state, reason }) => [jobId, state, reason])).toEqual([
      ['first', 'queued', 'waits for its first look at the nodes'],
      ['urgent', 'blocked', 'waits for jobs first (queued), secret'],
      ['late', 'blocked', 'waits for job urgent (blocked)'],
    ]);
    const awaited = (job: string, state: string | null) => ({ job, when: 'completed', state });
    const waitsFor = [awaited('done', 'completed'), awaited('first', 'queued'), awaited('secret', null)];
    expect(items[1]).toMatchObject({ waitsFor });
    expect(await queries.get('urgent')).toMatchObject({ reason: 'waits for jobs first (queued), secret (queued)' });
    expect(await queries.get('held')).toMatchObject({
      reason: 'paused: lunch',
      waitsFor: [awaited('late', 'blocked')],
    });
    expect(await queries.get('first')).toMatchObject({ waitsFor: null });
    const paged: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page: Awaited<ReturnType<typeof queries.queue>> = await queries.queue({ visible, limit: 1, cursor });
      paged.push(...page.items.map(({ jobId }) => jobId));
      if (page.next === null) break;
      cursor = page.next;
    }
    expect(paged).toEqual(['first', 'urgent', 'late']);
    await own.destroy();
  });

  it('shows projects', async () => {
    const projects = new ProjectQueries(source);
    expect((await projects.list()).items).toMatchObject([{ id: 'demo', quota: { cpu: 8 }, weight: 2, revision: '0' }]);
    expect(await projects.get('demo')).toMatchObject({ institution: 'usp', members: ['*'] });
  });

  it('A-43 shows how the newest failed try of a job failed, and its last words in the timeline', async () => {
    const from = { jobId: 'job-99' };
    const failing = {
      class: 'application',
      code: 'exit-code',
      message: 'ended with exit code 3',
      exitCode: 3,
    } as const;
    const diagnostics = { stderr: ['loading', 'no such reef'], peakMemory: 300 };
    const fresh = historyOf([
      submission(99),
      aPlacement(1, 1, from),
      aConfirmation(1, 2, from),
      aReport(1, 3, { type: 'start' }, from),
      aReport(1, 4, { type: 'fail', ...failing, diagnostics }, from),
    ]);
    const before = log.map(({ stream, type, data }) => [stream, { type, data }] as const);
    const all = recordedLog([...before, ...fresh.map((event) => [jobStream('job-99'), event] as const)]);
    await applyAll(poolOf(source), [jobsProjection], all.slice(log.length));

    const failed = await jobs.get('job-99');
    const { code, message, class: kind } = failing;
    expect(failed?.lastFailure).toMatchObject({ attempt: 1, exitCode: 3, diagnostics });
    expect(failed?.lastFailure?.failure).toEqual({ class: kind, code, message });
    const { items } = await jobs.history.timeline('job-99', { type: 'ExecutionFailed' });
    expect(items.map(({ title }) => title)).toEqual([
      'Failed (application): ended with exit code 3; its last words: no such reef',
    ]);
    expect((await jobs.get('job-0'))?.lastFailure).toBeNull();
  });
});
