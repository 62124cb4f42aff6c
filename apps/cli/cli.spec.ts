import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { countingIds, systemClock, systemTimers } from '#kernel';
import { referencePage } from './reference.js';
import { stubServer, withEvents, withStatus } from './testing/stub-server.js';
import { runCli } from './testing/terminal.js';
import type { StubServer } from './testing/stub-server.js';
import type { Ran } from './testing/terminal.js';

let folder: string;
let server: StubServer | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'escalon-cli-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

/** Runs against a stub that answers so. */
const cli = async (answers: Record<string, unknown>, ...argv: string[]): Promise<Ran> => {
  await server?.close();
  server = await stubServer(answers);
  return runCli(argv, { env: { ESCALON_URL: server.url, ESCALON_TOKEN: 'secret-token' }, cwd: folder });
};

const movement = (revision: number, type: string, title: string, data: object = {}) => ({
  revision: String(revision),
  at: `2026-11-29T20:00:0${revision}.000Z`,
  type,
  title,
  data,
});
const submitted = movement(0, 'JobSubmitted', 'ana submitted the job to project demo');
const ending = (...movements: object[]) => ({ 'GET /jobs/j1/timeline': { items: [submitted, ...movements] } });

describe('exit codes', () => {
  it.each([
    [0, 'completed', movement(1, 'JobCompleted', 'Completed')],
    [3, 'failed', movement(1, 'JobFailed', 'The job failed (application): exit code 7')],
    [4, 'cancelled', movement(1, 'JobCancelled', 'Cancelled: wrong input')],
    [5, 'can never be placed', movement(1, 'PlacementDecided', 'Decision 1: never', { outcome: 'rejected' })],
  ])('%i when the job %s', async (code, _how, last) => {
    const ran = await cli(ending(last), 'job', 'wait', 'j1');
    expect(ran.code).toBe(code);
    expect(ran.out).toBe('');
    expect(ran.err).toContain(last.title);
  });

  it('124 when the wait was long enough', async () => {
    const ran = await cli(ending(), 'job', 'wait', 'j1', '--timeout', '1ms');
    expect(ran.code).toBe(124);
  });

  it('a rejection counts only while nothing came after it', async () => {
    const rejected = movement(1, 'PlacementDecided', 'never', { outcome: 'rejected' });
    const placed = movement(2, 'PlacementDecided', 'chosen', { outcome: 'placed' });
    expect(
      (await cli(ending(rejected, placed, movement(3, 'JobCompleted', 'Completed')), 'job', 'wait', 'j1')).code,
    ).toBe(0);
  });

  it('S-05 a part that its node can never run says nothing of the job', async () => {
    const rejected = movement(1, 'PlacementDecided', 'never', { outcome: 'rejected', target: 'n1' });
    expect((await cli(ending(rejected), 'job', 'wait', 'j1', '--timeout', '1ms')).code).toBe(124);
  });

  it('S-03 S-05 0 when all of a job runs that does not end by itself, and not before', async () => {
    const first = movement(0, 'JobSubmitted', 'ana submitted the job', { type: 'service' });
    const started = [1, 2].map((revision) => movement(revision, 'ExecutionStarted', 'Started'));
    const items = [{ items: [first, started[0]] }, { items: [first, ...started] }];
    const jobs = [1, 2].map((liveRunning) => ({ id: 'j1', type: 'service', state: 'running', count: 2, liveRunning }));
    const ran = await cli({ 'GET /jobs/j1/timeline': items, 'GET /jobs/j1': jobs }, 'job', 'wait', 'j1');
    expect(ran.code).toBe(0);
    expect(ran.err.trim().split('\n').at(-1)).toBe('all 2 of it run; a service does not end by itself');
    expect(server?.requests.filter(({ path }) => path.endsWith('/jobs/j1'))).toHaveLength(2);
  });

  it('1 when nothing answers, with what to do', async () => {
    const ran = await runCli(['job', 'list', '--url', 'http://127.0.0.1:1'], { cwd: folder });
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('escalon up');
  });

  it('1 when the server refuses, with its code and hint', async () => {
    const problem = { code: 'JOB_TERMINAL', detail: 'the job is completed already', hint: 'Rerun it.' };
    const ran = await cli({ 'POST /jobs/j1/cancel': withStatus(409, problem) }, 'job', 'cancel', 'j1', '--reason', 'x');
    expect(ran.code).toBe(1);
    expect(ran.err).toBe('error: the job is completed already (JOB_TERMINAL)\nRerun it.\n');
  });

  it.each([
    ['an unknown verb', ['fly']],
    ['an unknown option', ['job', 'list', '--fast']],
    ['a missing reason', ['job', 'cancel', 'j1']],
    ['a format that does not exist', ['job', 'list', '--output', 'xml']],
    ['a duration that is none', ['job', 'wait', 'j1', '--timeout', 'soon']],
    ['a missing file', ['job', 'submit', 'absent.yaml']],
  ])('2 for %s', async (_what, argv) => {
    const ran = await cli({}, ...argv);
    expect(ran.code).toBe(2);
    expect(ran.out).toBe('');
    expect(ran.err).not.toBe('');
    expect(server?.requests).toEqual([]);
  });
});

describe('a rerun', () => {
  const job = { spec: { name: 'x', resources: { cpu: 1, memory: 1024 }, inputs: [{ source: 'sha256:1', path: 'a' }] } };
  const answer = { id: 'j2', evaluationId: 'e', revision: '0', warnings: ['/count is ignored'] };
  const answers = { 'GET /jobs/j1': job, 'POST /jobs/j1/rerun': withStatus(201, answer) };

  it('E-06 sends the fields that --set reaches into, whole, and prints the new id', async () => {
    const sets = ['--set', 'resources.memory=8GiB', '--set', 'inputs[0].path=b', '--set', 'batch=null'];
    const ran = await cli(answers, 'job', 'rerun', 'j1', ...sets, '--idempotency-key', 'k1');
    expect([ran.code, ran.out, ran.err]).toEqual([0, 'j2\n', 'j1: warning: /count is ignored\n']);
    const sent = server?.requests.at(-1);
    expect(sent?.headers['idempotency-key']).toBe('k1');
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      changes: { resources: { cpu: 1, memory: '8GiB' }, inputs: [{ source: 'sha256:1', path: 'b' }], batch: null },
    });
  });

  it('E-06 without --set asks for nothing to be changed', async () => {
    const ran = await cli(answers, 'job', 'rerun', 'j1');
    expect(ran.code).toBe(0);
    expect(server?.requests.map(({ method, body }) => [method, body])).toEqual([['POST', '{"changes":{}}']]);
  });

  it('E-06 of a job that has not ended says its state', async () => {
    const problem = { code: 'JOB_NOT_TERMINAL', detail: 'job j1 is running', hint: 'Cancel it or wait for its end.' };
    const ran = await cli({ 'POST /jobs/j1/rerun': withStatus(409, problem) }, 'job', 'rerun', 'j1');
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('job j1 is running (JOB_NOT_TERMINAL)')]);
  });
});

describe('help', () => {
  it('every verb shows an example that names it', async () => {
    const verbs = [
      ['up'],
      ['queue'],
      ...[
        'submit',
        'plan',
        'wait',
        'cancel',
        'pause',
        'resume',
        'rerun',
        'list',
        'show',
        'history',
        'explain',
        'logs',
        'results',
      ].map((verb) => ['job', verb]),
      ...['list', 'show', 'drain', 'cordon', 'uncordon', 'policy'].map((verb) => ['node', verb]),
      ...['export', 'replay', 'verify'].map((verb) => ['audit', verb]),
      ['whatif'],
      ...['status', 'rebuild'].map((verb) => ['projections', verb]),
      ...['list', 'put'].map((verb) => ['project', verb]),
      ['token', 'create'],
      ['token', 'write-local'],
      ['demo'],
    ];
    for (const verb of verbs) {
      const ran = await runCli([...verb, '--help']);
      expect(ran.code).toBe(0);
      expect(ran.out).toContain(`Example:\n  escalon ${verb.join(' ')}`);
    }
  });
});

describe('the reference page', () => {
  it('says what the help says (node tools/cli-page.mjs writes it)', () => {
    const sink = { isTerminal: false, write: () => undefined };
    const ports = { clock: systemClock, timers: systemTimers, ids: countingIds() };
    const page = referencePage({ out: sink, err: sink, env: {}, cwd: '/', ...ports });
    expect(readFileSync('docs/reference/cli.md', 'utf8')).toBe(page);
  });
});

describe('who calls, and where', () => {
  const list = { 'GET /jobs': { items: [] } };

  it('the environment says so', async () => {
    await cli(list, 'job', 'list');
    expect(server?.requests[0]?.headers.authorization).toBe('Bearer secret-token');
  });

  it('a flag goes before the environment', async () => {
    await cli(list, 'job', 'list', '--token', 'other');
    expect(server?.requests[0]?.headers.authorization).toBe('Bearer other');
  });

  it('what `up` wrote is found in the data folder', async () => {
    server = await stubServer(list);
    mkdirSync(join(folder, '.escalon'));
    writeFileSync(join(folder, '.escalon', 'url'), `${server.url}\n`);
    writeFileSync(join(folder, '.escalon', 'admin.token'), 'local-token\n');
    expect((await runCli(['job', 'list'], { cwd: folder })).code).toBe(0);
    expect(server.requests[0]?.headers.authorization).toBe('Bearer local-token');
  });
});

describe('job submit', () => {
  const accepted = { 'POST /jobs': { id: 'j1', evaluationId: 'e1', revision: '0', warnings: ['count is ignored'] } };
  const job = 'name: a\nproject: demo\ntask: { command: [node, a.mjs] }\n';

  it('prints the id alone on stdout, warnings beside it', async () => {
    writeFileSync(join(folder, 'job.yaml'), job);
    const ran = await cli(accepted, 'job', 'submit', 'job.yaml', '--idempotency-key', 'k1');
    expect(ran).toEqual({ code: 0, out: 'j1\n', err: 'job.yaml: warning: count is ignored\n' });
    expect(server?.requests[0]?.headers['idempotency-key']).toBe('k1');
  });

  it('sends a key of its own, so that a lost answer makes no second job', async () => {
    writeFileSync(join(folder, 'job.yaml'), job);
    await cli(accepted, 'job', 'submit', 'job.yaml');
    expect(server?.requests[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('changes the job by --set before it is sent', async () => {
    writeFileSync(join(folder, 'job.yaml'), job);
    const sets = ['priority=80', 'task.env.MODE=fast', 'task.command[1]=b.mjs', 'labels={"a": "1"}'];
    await cli(accepted, 'job', 'submit', 'job.yaml', ...sets.flatMap((set) => ['--set', set]));
    expect(JSON.parse(server?.requests[0]?.body ?? '')).toEqual({
      name: 'a',
      project: 'demo',
      priority: 80,
      task: { command: ['node', 'b.mjs'], env: { MODE: 'fast' } },
      labels: { a: '1' },
    });
  });

  it('stores files beside the job file under their digest first, and leaves other sources alone', async () => {
    mkdirSync(join(folder, 'jobs'));
    writeFileSync(join(folder, 'jobs', 'in.csv'), 'a,b\n');
    const inputs = '- { source: ./in.csv, path: in.csv }\n- { source: https://example.org/x, path: x }\n';
    writeFileSync(join(folder, 'jobs', 'job.yaml'), `${job}inputs:\n${inputs}`);
    const sha256 = createHash('sha256').update('a,b\n').digest('hex');
    await cli({ ...accepted, [`PUT /artifacts/${sha256}`]: { sha256 } }, 'job', 'submit', 'jobs/job.yaml');
    expect(server?.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `PUT /artifacts/${sha256}`,
      'POST /jobs',
    ]);
    expect(server?.requests[0]?.body).toBe('a,b\n');
    expect(JSON.parse(server?.requests[1]?.body ?? '').inputs).toEqual([
      { source: `sha256:${sha256}`, path: 'in.csv', size: 4 },
      { source: 'https://example.org/x', path: 'x' },
    ]);
  });

  it('lists every mistake of every file, and submits none', async () => {
    writeFileSync(join(folder, 'good.yaml'), job);
    writeFileSync(join(folder, 'torn.yaml'), 'name: [a\n');
    writeFileSync(
      join(folder, 'inputs.yaml'),
      `${job}inputs:\n- { source: gone.csv, path: a }\n- { source: gone2.csv, path: b }\n`,
    );
    const ran = await cli(accepted, 'job', 'submit', 'good.yaml', 'torn.yaml', 'inputs.yaml', 'absent.yaml');
    expect(ran.code).toBe(2);
    for (const part of ['torn.yaml: ', 'inputs[0].source', 'inputs[1].source', 'absent.yaml: there is no such file']) {
      expect(ran.err).toContain(part);
    }
    expect(server?.requests.map(({ path }) => path)).not.toContain('/jobs');
  });

  it('a missing input does not hide what the server finds', async () => {
    writeFileSync(join(folder, 'job.yaml'), `${job}inputs:\n- { source: gone.csv, path: a }\n`);
    const errors = [{ pointer: '/count', code: 'OUT_OF_RANGE', message: 'must be 1 to 10000' }];
    const refused = withStatus(422, { code: 'VALIDATION_FAILED', errors });
    const ran = await cli({ 'POST /jobs/plan': refused }, 'job', 'submit', 'job.yaml');
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain('inputs[0].source');
    expect(ran.err).toContain('job.yaml: /count: must be 1 to 10000');
    expect(server?.requests.map(({ path }) => path)).toEqual(['/jobs/plan']);
  });

  it('2 for a job that the server refuses for what it says', async () => {
    writeFileSync(join(folder, 'job.yaml'), job);
    const refused = withStatus(422, { code: 'PROJECT_UNKNOWN', detail: 'there is no project demo' });
    const ran = await cli({ 'POST /jobs': refused }, 'job', 'submit', 'job.yaml');
    expect(ran).toEqual({ code: 2, out: '', err: 'job.yaml: there is no project demo (PROJECT_UNKNOWN)\n' });
  });

  it('lists every mistake that the server finds, with its place, as a mistake of the file', async () => {
    writeFileSync(join(folder, 'job.yaml'), job);
    const errors = [
      { pointer: '/count', code: 'OUT_OF_RANGE', message: 'must be 1 to 10000' },
      { pointer: '/colour', code: 'UNKNOWN_FIELD', message: 'is not known' },
    ];
    const ran = await cli(
      { 'POST /jobs': withStatus(422, { code: 'VALIDATION_FAILED', errors }) },
      'job',
      'submit',
      'job.yaml',
    );
    expect(ran).toEqual({
      code: 2,
      out: '',
      err: 'job.yaml: /count: must be 1 to 10000\njob.yaml: /colour: is not known\n',
    });
  });

  const graph = [
    '{ name: a, task: { command: [x] } }',
    '{ name: b, dependsOn: [ { job: "#a" } ], inputs: [ { source: job:#a/out, path: in } ] }',
  ];
  const sent = [
    { name: 'a', task: { command: ['x'] }, priority: 80 },
    {
      name: 'b',
      dependsOn: [{ job: '#a' }],
      inputs: [{ source: 'job:#a/out', path: 'in' }],
      priority: 80,
    },
  ];
  const together = {
    'POST /jobs/batch': {
      items: ['j1', 'j2'].map((id) => ({ status: 201, id, evaluationId: 'e', revision: '0', warnings: [] })),
    },
  };

  it.each([
    ['several documents', `${graph.join('\n---\n')}\n---\n`],
    ['a list', `jobs:\n${graph.map((one) => `  - ${one}\n`).join('')}`],
  ])('G-55 sends the jobs of a file with %s together, as they name each other', async (_form, text) => {
    writeFileSync(join(folder, 'graph.yaml'), text);
    const ran = await cli(together, 'job', 'submit', 'graph.yaml', '--set', 'priority=80', '--idempotency-key', 'k');
    expect(ran).toEqual({ code: 0, out: 'j1\nj2\n', err: '' });
    expect(server?.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([{ items: sent }]);
    expect(server?.requests[0]?.headers['idempotency-key']).toBe('k');
  });

  it('G-55 tells every mistake of a file with several jobs as one of its job', async () => {
    writeFileSync(join(folder, 'graph.yaml'), graph.join('\n---\n'));
    const errors = [
      { pointer: '/items/1/dependsOn/0/job', code: 'CYCLE', message: 'closes a cycle' },
      { pointer: '/items/0', code: 'WRONG_TYPE', message: 'must be an object' },
    ];
    const refused = { 'POST /jobs/batch': withStatus(422, { code: 'VALIDATION_FAILED', errors }) };
    expect(await cli(refused, 'job', 'submit', 'graph.yaml')).toEqual({
      code: 2,
      out: '',
      err: 'graph.yaml: job 2 (b): /dependsOn/0/job: closes a cycle\ngraph.yaml: job 1 (a): /: must be an object\n',
    });
    const [taken] = together['POST /jobs/batch'].items;
    const partly = { items: [taken, { status: 422, problem: { code: 'X', detail: 'is wrong', errors: [] } }] };
    expect(await cli({ 'POST /jobs/batch': partly }, 'job', 'submit', 'graph.yaml')).toEqual({
      code: 2,
      out: 'j1\n',
      err: 'graph.yaml: job 2 (b): is wrong (X)\n',
    });
    writeFileSync(join(folder, 'graph.yaml'), `jobs: []`);
    expect((await cli({}, 'job', 'submit', 'graph.yaml')).err).toContain('jobs must be a list of at least one job');
    writeFileSync(join(folder, 'graph.yaml'), `jobs: [{name: a}]\nproject: demo`);
    expect((await cli({}, 'job', 'submit', 'graph.yaml')).err).toContain('has project beside jobs');
  });

  it('G-55 explains a job that waits for others, of which nothing is decided yet', async () => {
    const reason = 'waits for job j0 (running)';
    const answers = { 'GET /jobs/j1/decisions': { items: [] }, 'GET /jobs/j1': { state: 'blocked', reason } };
    expect(await cli(answers, 'job', 'explain', 'j1')).toEqual({ code: 0, out: `blocked: ${reason}\n`, err: '' });
    const queued = { ...answers, 'GET /jobs/j1': { state: 'queued' } };
    const none = { code: 2, out: '', err: 'no decision is recorded for j1 yet\n' };
    expect(await cli(queued, 'job', 'explain', 'j1')).toEqual(none);
  });

  it('G-55 plans each job of a file by itself', async () => {
    writeFileSync(join(folder, 'graph.yaml'), graph.join('\n---\n'));
    const planned = { outcome: 'placed', explanation: ['fits'], ranking: [], warnings: [] };
    const ran = await cli({ 'POST /jobs/plan': planned }, 'job', 'plan', 'graph.yaml');
    expect(ran.out).toContain('graph.yaml: job 2 (b): would be placed now');
    expect(JSON.parse(server?.requests[1]?.body ?? '')).toEqual({ name: 'b', dependsOn: [], inputs: [] });
  });

  it('--wait tells what happens line by line, and ends as the job does', async () => {
    writeFileSync(join(folder, 'job.yaml'), job);
    const [started, failed] = [movement(1, 'ExecutionStarted', 'Started'), movement(2, 'JobFailed', 'The job failed')];
    const timeline = [{ items: [submitted] }, { items: [submitted, started] }, { items: [submitted, started, failed] }];
    const ran = await cli({ ...accepted, 'GET /jobs/j1/timeline': timeline }, 'job', 'submit', 'job.yaml', '--wait');
    expect(ran.code).toBe(3);
    expect(ran.out).toBe('j1\n');
    expect(ran.err.trim().split('\n').slice(1)).toEqual([
      '20:00:00  ana submitted the job to project demo',
      '20:00:01  Started',
      '20:00:02  The job failed',
    ]);
  });

  it('--wait outlives a server that restarts', async () => {
    const ends = { items: [submitted, movement(1, 'JobCompleted', 'Completed')] };
    const answers = [withStatus(503, { code: 'NOT_READY', detail: 'starting', retryable: true }), ends];
    expect((await cli({ 'GET /jobs/j1/timeline': answers }, 'job', 'wait', 'j1')).code).toBe(0);
  });
});

describe('job plan', () => {
  const planned = (outcome: string) => ({ outcome, explanation: ['Because.'], ranking: [], warnings: ['odd'] });

  it('A-20 says what would happen, and stores nothing', async () => {
    writeFileSync(join(folder, 'in.csv'), 'a\n');
    writeFileSync(join(folder, 'job.yaml'), 'name: a\ninputs: [ { source: in.csv, path: in.csv } ]\n');
    const ran = await cli({ 'POST /jobs/plan': planned('placed') }, 'job', 'plan', 'job.yaml', '--set', 'priority=9');
    expect(ran).toEqual({
      code: 0,
      out: 'job.yaml: would be placed now\n  Because.\n',
      err: 'job.yaml: warning: odd\n',
    });
    expect(server?.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /jobs/plan']);
    const sha256 = createHash('sha256').update('a\n').digest('hex');
    expect(JSON.parse(server?.requests[0]?.body ?? '')).toMatchObject({
      priority: 9,
      inputs: [{ source: `sha256:${sha256}`, size: 2 }],
    });
  });

  it('5 when the job can never be placed, JSON being the REST shape', async () => {
    writeFileSync(join(folder, 'job.yaml'), 'name: a\n');
    const answer = { 'POST /jobs/plan': planned('rejected') };
    const ran = await cli(answer, 'job', 'plan', 'job.yaml', '--output', 'json');
    expect(ran.code).toBe(5);
    expect(JSON.parse(ran.out)).toEqual(planned('rejected'));
  });
});

describe('what is written', () => {
  const jobs = [
    {
      ...{ type: 'daemon', count: 3, succeeded: 0, liveRunning: 2, failedPartitions: [1] },
      id: 'j2',
      name: 'b',
      project: 'demo',
      state: 'running',
      nodeId: 'n1',
      submittedAt: '2026-11-29T20:00:01.000Z',
    },
    {
      ...{ type: 'ops', count: 4, succeeded: 0, liveRunning: 0, failedPartitions: [] },
      id: 'j1',
      name: 'longer',
      project: 'demo',
      state: 'queued',
      nodeId: null,
      submittedAt: '2026-11-29T20:00:00.000Z',
    },
  ];
  const pages = { 'GET /jobs': [{ items: [jobs[0]], next: 'c1' }, { items: [jobs[1]] }] };

  it('a table for people, over all pages', async () => {
    const ran = await cli(pages, 'job', 'list');
    expect(ran.out).toBe(
      'state    name    project  parts                  node  submitted                 id\n' +
        'running  b       demo     2/3 running, 1 failed  n1    2026-11-29T20:00:01.000Z  j2\n' +
        'queued   longer  demo     0/4                    –     2026-11-29T20:00:00.000Z  j1\n',
    );
    expect(server?.requests[1]?.path).toContain('cursor=c1');
  });

  it('JSON is the REST shape, and nothing else is on stdout', async () => {
    const ran = await cli(pages, 'job', 'list', '--output', 'json');
    expect(JSON.parse(ran.out)).toEqual(jobs);
    expect(ran.err).toBe('');
  });

  it('JSON lines are one item each', async () => {
    const ran = await cli(pages, 'job', 'list', '--output', 'jsonl');
    expect(
      ran.out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(jobs);
  });

  it('a node says why it takes no new work', async () => {
    const amounts = { cpu: 2, memory: 2 ** 30, disk: 2 ** 30, ioSlots: 2, gpus: [] };
    const node = {
      id: 'lab-3',
      state: 'online',
      owner: 'ana',
      institution: 'local',
      executions: 1,
      policy: {},
      cordoned: 'new disks',
      setAside: { refusals: 4, until: '2026-11-30T07:00:00.000Z' },
      draining: { reason: 'moves house', deadline: '2026-11-30T08:00:00.000Z' },
      capacity: { total: amounts, reserved: amounts, free: amounts },
      inventory: { os: 'linux', architecture: 'x64', gpus: [], applications: [], packages: [] },
    };
    const ran = await cli({ 'GET /nodes/lab-3': node }, 'node', 'show', 'lab-3');
    expect(ran.out).toMatch(/^cordoned: +new disks$/m);
    expect(ran.out).toMatch(/^set aside: +did not take 4 jobs in a row; tried again from 2026-11-30T07:00:00.000Z$/m);
    expect(ran.out).toMatch(/^draining: +moves house; what still runs is stopped at 2026-11-30T08:00:00.000Z$/m);
    expect(ran.out).toMatch(/^holds: +1 execution$/m);
  });

  it('no more than asked for', async () => {
    const ran = await cli(pages, 'job', 'list', '--limit', '1', '--output', 'jsonl');
    expect(ran.out.trimEnd().split('\n')).toHaveLength(1);
  });
});

describe('job results', () => {
  const bytes = '{"count":4}\n';
  const sha256 = createHash('sha256').update(JSON.stringify(bytes)).digest('hex');
  const result = (path: string, digest: string) => ({
    items: [
      {
        executionId: 'j1.1',
        attempt: 1,
        nodeId: 'n1',
        state: 'succeeded',
        exitCode: 0,
        artifacts: [{ path, sha256: digest, size: 13 }],
      },
    ],
  });
  const download = (path: string, digest = sha256) =>
    cli(
      {
        'GET /jobs/j1': { id: 'j1', count: 1 },
        'GET /jobs/j1/results': result(path, digest),
        [`GET /artifacts/${digest}`]: bytes,
      },
      'job',
      'results',
      'j1',
      '--download',
      join(folder, 'out'),
    );

  it('brings files here under their own paths', async () => {
    const ran = await download('plots/a.json');
    expect(ran.code).toBe(0);
    expect(ran.out).toContain(sha256);
    expect(readFileSync(join(folder, 'out', 'plots', 'a.json'), 'utf8')).toBe(JSON.stringify(bytes));
  });

  it('E-04 keeps the files of partitions apart, and brings those of failed tries when asked', async () => {
    const artifacts = [{ path: 'a.json', sha256, size: 13 }];
    const one = (partition: number, executionId: string, state: string) => ({
      ...{ executionId, partition, attempt: 1, nodeId: 'n1', state, exitCode: null, artifacts },
    });
    const items = [one(0, 'j1.1', 'failed'), one(0, 'j1.2', 'succeeded'), one(1, 'j1.3', 'succeeded')];
    const answers = {
      'GET /jobs/j1': { id: 'j1', count: 2 },
      'GET /jobs/j1/results': { items },
      [`GET /artifacts/${sha256}`]: bytes,
    };
    const at = join(folder, 'parts');
    const brought = async (...flags: string[]): Promise<string[]> => {
      const ran = await cli(answers, 'job', 'results', 'j1', '--download', at, ...flags);
      expect(ran.code).toBe(0);
      return ran.err
        .trimEnd()
        .split('\n')
        .map((file) => relative(at, file));
    };
    expect(await brought()).toEqual([join('0', 'a.json'), join('1', 'a.json')]);
    expect(await brought('--failed')).toContain(join('failed', 'j1.1', 'a.json'));
    expect(await cli(answers, 'job', 'results', 'j1', '--failed')).toMatchObject({ code: 2 });
  });

  it('refuses bytes that do not match their digest, and leaves nothing behind', async () => {
    const ran = await download('a.json', 'f'.repeat(64));
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('damaged');
    expect(() => readFileSync(join(folder, 'out', 'a.json'))).toThrow('ENOENT');
  });

  it('refuses a path that leads out of the folder', async () => {
    const ran = await download('../escaped.json');
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('leads out');
  });
});

describe('audit verify', () => {
  const counts = { verified: 7, otherVersion: 0, differing: 0, versions: {} };
  const progress = { position: '10', fraction: 0.5, decisions: 3 };

  it('A-21 says how many decisions derived, and ends with 0', async () => {
    const answer = withEvents(['progress', progress], ['end', counts]);
    const ran = await cli({ 'GET /audit/verify': answer }, 'audit', 'verify', '--from', '3', '--to', '9');
    expect(ran).toEqual({ code: 0, out: '7 verified, 0 by another version, 0 differing\n', err: '' });
    expect(server?.requests[0]?.path).toBe('/audit/verify?from=3&to=9');
    expect(server?.requests[0]?.headers.accept).toBe('text/event-stream');
  });

  it('A-88 lists what differs, recorded → derived, and ends with 1', async () => {
    const differences = [{ path: '/winner', recorded: 'n9', derived: 'n1' }];
    const found = { jobId: 'j1', number: 2, position: '77', differences, more: 3 };
    const summary = { verified: 6, otherVersion: 2, differing: 1, versions: { 'placement/0 profiles/1': 2 } };
    const answer = withEvents(['difference', found], ['end', summary]);
    const ran = await cli({ 'GET /audit/verify': answer }, 'audit', 'verify', '--job', 'j1');
    expect(ran.code).toBe(1);
    expect(ran.out).toBe(
      'decision 2 of j1, at position 77: recorded → derived\n  /winner: "n9" → "n1"\n  and 3 more\n' +
        '6 verified, 2 by another version (2 by placement/0 profiles/1), 1 differing\n',
    );
    const json = await cli({ 'GET /audit/verify': answer }, 'audit', 'verify', '--output', 'json');
    expect(JSON.parse(json.out)).toEqual({ ...summary, differences: [found] });
  });

  it('an answer that breaks off is a failure', async () => {
    const ran = await cli({ 'GET /audit/verify': withEvents(['progress', progress]) }, 'audit', 'verify');
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toContain('broke off');
  });
});

describe('whatif', () => {
  const change = {
    jobId: 'j1',
    number: 1,
    position: '77',
    time: '2026-11-29T20:00:00.000Z',
    project: 'reef',
    application: 'node',
    profile: 'balanced',
    winner: 'n1',
    margin: 0.0123,
    otherWinner: 'n2',
    otherMargin: null,
  };
  const tallies = { considered: 9, changed: 1 };
  const summary = { ...tallies, passedOver: 2, byProject: { reef: tallies }, byApplication: { node: tallies } };

  it('A-66 lists the decisions that change, with both winners and margins, and a summary', async () => {
    const answer = { 'GET /whatif': withEvents(['change', change], ['end', summary]) };
    const ran = await cli(answer, 'whatif', '--weights', 'resources=1', '--profile', 'balanced');
    expect(ran.code).toBe(0);
    expect(ran.out).toBe(
      'decision 1 of j1: n1 (by 0.012) → n2 (by –)\n' +
        '1 of 9 decisions change; 2 of another profile or version passed over\n\n' +
        'of           name  considered  changed\n' +
        'project      reef  9           1\n' +
        'application  node  9           1\n',
    );
    expect(server?.requests[0]?.path).toBe('/whatif?weights=resources%3D1&profile=balanced');
  });

  it('2 for weights that the server refuses, with every mistake', async () => {
    const errors = [{ pointer: '/weights', code: 'REQUIRED', message: 'must name all five; cost missing' }];
    const refused = withStatus(422, { code: 'VALIDATION_FAILED', detail: 'wrong', errors });
    const ran = await cli({ 'GET /whatif': refused }, 'whatif', '--weights', 'resources=1');
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain('/weights: must name all five; cost missing');
  });
});
