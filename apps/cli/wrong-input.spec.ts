import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokenOff, stubServer, withEvents, withStatus } from './testing/stub-server.js';
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

const cli = async (answers: Record<string, unknown>, ...argv: string[]): Promise<Ran> => {
  await server?.close();
  server = await stubServer(answers);
  return runCli(argv, { env: { ESCALON_URL: server.url, ESCALON_TOKEN: 'secret-token' }, cwd: folder });
};

/** Refused from here: told so, and nothing was asked of the server. */
const refused = async (said: string, ...argv: string[]): Promise<void> => {
  const ran = await cli({}, ...argv);
  expect([ran.code, ran.out]).toEqual([2, '']);
  expect(ran.err).toContain(said);
  expect(server?.requests).toEqual([]);
};

describe('E-06 what is empty is refused', () => {
  it.each([
    ...['show', 'history', 'explain', 'logs', 'results', 'wait', 'resume', 'rerun'].map((verb) => ['job', verb, '']),
    ['job', 'cancel', '', '--reason', 'x'],
    ['job', 'wait', 'j1', ' '],
    ['audit', 'export', ''],
    ['audit', 'replay', ''],
  ])('%s %s with an id of none', (...argv) => refused('<id> must not be empty', ...argv));

  it('every empty one is named, those of a node and of the whole program too', async () => {
    await refused(
      'error: <node> must not be empty\nerror: --token must not be empty',
      'node',
      'show',
      '',
      '--token',
      '',
    );
    for (const option of ['--job', '--profile']) {
      await refused(`${option} must not be empty`, 'whatif', '--weights', 'x', option, '');
    }
    await refused('--job must not be empty', 'audit', 'verify', '--job', '');
  });

  it.each(['', '-1', '-3', 'x'])('a position of the log is digits, not %p', async (position) => {
    for (const option of ['--from', '--to']) {
      await refused('a position of the log is expected', 'audit', 'verify', option, position);
      await refused('a position of the log is expected', 'whatif', '--weights', 'x', option, position);
    }
  });
});

describe('how many', () => {
  it.each(['0', '99999999999', '-1', '1.5'])('--limit %s is refused with the range', async (limit) => {
    for (const verb of [['queue'], ['job', 'list'], ['node', 'list']]) {
      await refused('a whole number from 1 to 999999999 is expected', ...verb, '--limit', limit);
    }
  });

  const entries = (...ids: string[]) => ids.map((jobId) => ({ jobId, name: jobId }));
  const idsOf = ({ out }: Ran): string[] => (JSON.parse(out) as { jobId: string }[]).map(({ jobId }) => jobId);

  it('nothing is listed twice when the queue moves between two pages', async () => {
    const pages = [{ items: entries('a', 'b'), next: 'c1' }, { items: entries('b', 'c') }];
    expect(idsOf(await cli({ 'GET /queue': pages }, 'queue', '--output', 'json'))).toEqual(['a', 'b', 'c']);
  });

  it('a server that sends the same page for ever is left', async () => {
    const page = { items: entries('a', 'b'), next: 'again' };
    expect(idsOf(await cli({ 'GET /queue': page }, 'queue', '--limit', '7', '--output', 'json'))).toEqual(['a', 'b']);
  });
});

describe('an address or a file that is none', () => {
  it.each(['notaurl', 'ftp://x', 'localhost:8080'])('--url %s', (url) =>
    refused(`must be a URL such as http://127.0.0.1:8080, not "${url}"`, 'job', 'list', '--url', url),
  );

  it('says in plain words what a file is not', async () => {
    mkdirSync(join(folder, 'jobs'));
    writeFileSync(join(folder, 'torn.yaml'), 'name: [a\n');
    await refused('jobs: it is a folder, not a file\n', 'job', 'submit', 'jobs');
    await refused('nope: there is no such file\n', 'node', 'policy', 'vm', 'nope');
    await refused('jobs: it is a folder, not a file\n', 'project', 'put', 'reef', 'jobs');
    await refused('nope: there is no such file\n', 'audit', 'replay', '--file', 'nope');
    for (const argv of [
      ['job', 'submit', 'torn.yaml'],
      ['node', 'policy', 'vm', 'torn.yaml'],
    ]) {
      const ran = await cli({}, ...argv);
      expect(ran.code).toBe(2);
      expect(ran.err).toMatch(/^torn\.yaml: .*[^:\s]\n$/);
    }
  });

  it('a policy is found from the folder of the caller', async () => {
    writeFileSync(join(folder, 'policy.yaml'), 'maxDuration: 1h\n');
    const ran = await cli({ 'PUT /nodes/vm/policy': { id: 'vm' } }, 'node', 'policy', 'vm', 'policy.yaml');
    expect([ran.code, server?.requests[0]?.body]).toEqual([0, '{"maxDuration":"1h"}']);
  });

  it.each(['__proto__.x=1', 'labels.__proto__=1', 'task.__proto__.x=1'])('--set %s is no path', async (set) => {
    writeFileSync(join(folder, 'job.yaml'), 'name: a\n');
    const ran = await cli({ 'POST /jobs/plan': { warnings: [] } }, 'job', 'submit', 'job.yaml', '--set', set);
    expect([ran.code, ran.err]).toEqual([2, `job.yaml: --set ${set}: __proto__ is no name of a field\n`]);
  });

  it('--set makes a field that every object inherits', async () => {
    writeFileSync(join(folder, 'job.yaml'), 'name: a\n');
    await cli({ 'POST /jobs': { id: 'j1', warnings: [] } }, 'job', 'submit', 'job.yaml', '--set', 'toString.x=1');
    expect(server?.requests[0]?.body).toBe('{"name":"a","toString":{"x":1}}');
  });
});

describe('several files', () => {
  const planned = (partition: number) => ({ outcome: 'placed', partition, explanation: [], ranking: [], warnings: [] });
  const names = ['a.yaml', 'b.yaml'];
  beforeEach(() => names.forEach((name) => writeFileSync(join(folder, name), 'name: a\ncount: 50\n')));

  it.each([
    ['plan', { 'POST /jobs/plan': planned(0) }, planned(0)],
    ['submit', { 'POST /jobs': { id: 'j1', warnings: [] } }, { id: 'j1', warnings: [] }],
  ])('E-06 %s as JSON is one document, as JSON lines one a line', async (verb, answers, one) => {
    const json = await cli(answers, 'job', verb, ...names, '--output', 'json');
    expect(JSON.parse(json.out)).toEqual([one, one]);
    const lines = await cli(answers, 'job', verb, ...names, '--output', 'jsonl');
    expect(lines.out).toBe(`${JSON.stringify(one)}\n`.repeat(2));
    const single = await cli(answers, 'job', verb, 'a.yaml', '--output', 'json');
    expect(JSON.parse(single.out)).toEqual(one);
  });

  it('ids that were given before a refusal are told', async () => {
    const answers = [{ id: 'j1', warnings: [] }, withStatus(422, { code: 'PROJECT_UNKNOWN', detail: 'no' })];
    const ran = await cli({ 'POST /jobs': answers }, 'job', 'submit', ...names, '--output', 'json');
    expect([ran.code, JSON.parse(ran.out)]).toEqual([2, [{ id: 'j1', warnings: [] }]]);
  });

  it('A-20 S-06 N-04 a plan says how many partitions could start now, and what keeps the rest', async () => {
    const reason = { code: 'node.offline', text: 'offline', retryable: true, changedBy: ['NodeWentOnline'], nodes: 2 };
    const rest = { requested: 50, available: 3, suitable: 1, reasons: [reason] };
    const answer = { ...planned(0), dryRun: { partitions: 50, startNow: 4, tried: 50, rest } };
    const ran = await cli({ 'POST /jobs/plan': answer }, 'job', 'plan', 'a.yaml');
    expect(ran.out).toBe(
      'a.yaml: would be placed now\n' +
        '  4 of 50 partitions could start now.\n' +
        '  Nodes: 50 requested, 3 available, 1 suitable.\n' +
        '    2: offline (may change by itself; looked at on NodeWentOnline)\n' +
        '  Of partition 0 by itself:\n',
    );
  });
});

describe('a reason', () => {
  it('is optional for a cordon, and sent when given', async () => {
    const answers = { 'POST /nodes/vm/cordon': { id: 'vm', cordoned: 'no reason given' } };
    expect((await cli(answers, 'node', 'cordon', 'vm')).code).toBe(0);
    expect(server?.requests[0]?.body).toBe('{"reason":""}');
    await cli(answers, 'node', 'cordon', 'vm', '--reason', 'disks');
    expect(server?.requests[0]?.body).toBe('{"reason":"disks"}');
  });

  it('is required for a drain, and its help says so', async () => {
    await refused("required option '--reason <text>'", 'node', 'drain', 'vm');
    expect((await cli({}, 'node', 'drain', '--help')).out).toContain('why (required)');
  });
});

describe('A-21 a check whose connection breaks is incomplete', () => {
  const progress = withEvents(['progress', { fraction: 0.5, decisions: 3 }]);
  it.each([
    ['verify', 'GET /audit/verify', ['audit', 'verify']],
    ['whatif', 'GET /whatif', ['whatif', '--weights', 'x']],
  ])('%s', async (_name, path, argv) => {
    const ran = await cli({ [path]: brokenOff(progress) }, ...argv);
    expect(ran).toEqual({
      code: 1,
      out: '',
      err: 'error: the connection broke off before the end: the check is incomplete, run it again\n',
    });
  });
});

describe('job explain --node', () => {
  const decision = { number: 1, time: 't', trigger: 'x', ranking: [] };
  const words = 'At decision 1 there was no node nosuch.';

  it('A-15 2 for a node that is not known, in the words of the server', async () => {
    const answer = { ...decision, explanation: [words], node: { kind: 'unknown', nodeId: 'nosuch' } };
    const answers = { 'GET /jobs/j1/decisions': { items: [decision] }, 'GET /jobs/j1/decisions/1': answer };
    const ran = await cli(answers, 'job', 'explain', 'j1', '--node', 'nosuch');
    expect(ran).toEqual({ code: 2, out: '', err: `error: ${words}\n` });
  });
});
