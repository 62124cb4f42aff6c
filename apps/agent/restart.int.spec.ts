import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JournalEntry } from './journal/entry.js';
import { processTable } from './runner/process-table.js';
import { someAssignment } from './testing/assignments.js';
import { eventually } from './testing/eventually.js';
import { RecordedControlPlane } from './testing/recorded-control-plane.js';

/* The agent as its own process, killed the hard way. Runs what `npm run build` made. */

let plane: RecordedControlPlane;
let data: string;
let agents: ChildProcess[];

const begin = async (...more: string[]): Promise<ChildProcess> => {
  const args = ['dist/apps/agent/main.js', '--url', plane.url, '--data', data, '--name', 'lab-1', ...more];
  const config = join(data, 'agent.json');
  const found = { cpu: 4, memory: '8GiB', applications: [], packages: [], gpus: [], containers: { engine: 'none' } };
  const settings = { ...found, probes: { python: false } };
  await writeFile(config, JSON.stringify({ ...settings, grace: '300ms', drain: '0s' }));
  const agent = spawn(process.execPath, [...args, '--config', config], {
    env: { PATH: process.env['PATH'], ESCALON_TOKEN: 'let-me-in' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  agents.push(agent);
  const [line] = (await once(agent.stdout, 'data')) as [Buffer];
  expect(JSON.parse(line.toString())).toEqual({ ready: true, nodeId: 'lab-1' });
  return agent;
};

const killHard = async (agent: ChildProcess): Promise<void> => {
  const gone = once(agent, 'exit');
  agent.kill('SIGKILL');
  await gone;
};

const terminate = async (agent: ChildProcess): Promise<number | null> => {
  const gone = once(agent, 'exit') as Promise<[number | null]>;
  agent.kill('SIGTERM');
  return (await gone)[0];
};

beforeEach(async () => {
  plane = await RecordedControlPlane.start();
  data = await mkdtemp(join(tmpdir(), 'escalon-agent-'));
  agents = [];
});

afterEach(async () => {
  for (const agent of agents) {
    if (agent.exitCode !== null || agent.signalCode !== null) continue;
    agent.kill('SIGTERM');
    await terminate(agent);
  }
  await plane.down();
  await rm(data, { recursive: true, force: true });
});

const untilGo = (before: string, after: string): string[] => [
  'sh',
  '-c',
  `${before}; while [ ! -e '${join(data, 'go')}' ]; do sleep 0.02; done; ${after}`,
];

const go = (): Promise<void> => writeFile(join(data, 'go'), '');

const journalled = (executionId: string): Partial<JournalEntry> => {
  const file = join(data, 'journal', `${executionId}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as JournalEntry) : {};
};

const group = (executionId: string): number => journalled(executionId).process?.pid ?? Number.NaN;

const membersOf = (leader: number): number =>
  processTable().filter(({ group, state }) => group === leader && state !== 'Z').length;

const started = async (executionId: string, command: string[], task = {}): Promise<number> => {
  plane.assign(someAssignment(executionId, command, task));
  await plane.until(() => plane.log(executionId, 'stdout').startsWith('up\n'), 'the task is up');
  await eventually(() => journalled(executionId).process !== undefined, 'the process is recorded');
  return group(executionId);
};

describe('an agent that was killed', () => {
  it('takes back a task that still runs and reports its result once', async () => {
    const first = await begin();
    await started('job1.e1', untilGo('echo up', 'echo 42 > out; echo end'), { outputs: ['out'] });

    await killHard(first);
    await begin();
    await go();
    const succeeded = await plane.reported('job1.e1', 'succeed');
    await plane.until(() => !existsSync(join(data, 'journal', 'job1.e1.json')), 'it is put away');

    expect(plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'publish', 'succeed']);
    expect(succeeded).toMatchObject({ exitCode: 0, artifacts: [{ path: 'out', size: 3 }] });
    expect(succeeded.consumption.wallSeconds).toBeGreaterThan(0);
    expect(plane.log('job1.e1', 'stdout')).toBe('up\nend\n');
  });

  it('tells truthfully how a task ended while nobody looked', async () => {
    const first = await begin();
    const leader = await started('job1.e1', untilGo('echo up', 'echo broken >&2; exit 5'));

    await killHard(first);
    await go();
    await eventually(() => membersOf(leader) === 0, 'the task ended');
    await begin();
    const failed = await plane.reported('job1.e1', 'fail');

    expect(failed).toMatchObject({ class: 'application', code: 'exit-code', exitCode: 5 });
    expect(failed.diagnostics).toMatchObject({ stdout: ['up'], stderr: ['broken'] });
    expect(plane.log('job1.e1', 'stderr')).toBe('broken\n');
  });

  it('A-44 reports a task that is gone without a trace as the infrastructure’s failure', async () => {
    const first = await begin();
    const leader = await started('job1.e1', untilGo('echo up', 'true'));

    await killHard(first);
    process.kill(-leader, 'SIGKILL');
    await eventually(() => membersOf(leader) === 0, 'the task is gone');
    await begin();

    const failed = await plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({ class: 'infrastructure', code: 'agent-restarted' });
  });

  it('kills at its start what is no longer assigned', async () => {
    const first = await begin();
    const leader = await started('job1.e1', untilGo('echo up', 'true'));

    await killHard(first);
    plane.unassign('job1.e1');
    await begin();

    await plane.reported('job1.e1', 'fail');
    expect(membersOf(leader)).toBe(0);
  });

  it('reports again what was finished and not acknowledged', async () => {
    const first = await begin();
    await started('job1.e1', untilGo('echo up', 'exit 4'));

    await plane.down();
    const requests = plane.requests.length;
    await go();
    await eventually(() => journalled('job1.e1').phase === 'finished', 'the result is on disk');
    await killHard(first);
    expect(plane.requests).toHaveLength(requests);
    await plane.up();
    await begin();
    const failed = await plane.reported('job1.e1', 'fail');
    await eventually(() => !existsSync(join(data, 'journal', 'job1.e1.json')), 'it is acknowledged');

    expect(failed).toMatchObject({ class: 'application', code: 'exit-code', exitCode: 4 });
    expect(plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'fail']);
  });
});

describe('an agent that is told to end', () => {
  it('ends its tasks and reports them, with exit code 0', async () => {
    const agent = await begin();
    const leader = await started('job1.e1', untilGo('echo up', 'true'));

    expect(await terminate(agent)).toBe(0);

    expect(plane.reportsOf('job1.e1').at(-1)).toMatchObject({ class: 'infrastructure', code: 'agent-stopped' });
    expect(membersOf(leader)).toBe(0);
    expect((await readdir(data)).includes('agent.lock')).toBe(false);
  });

  it('leaves them to its successor with --detach', async () => {
    const agent = await begin('--detach');
    const leader = await started('job1.e1', untilGo('echo up', 'true'));

    expect(await terminate(agent)).toBe(0);
    expect(membersOf(leader)).toBeGreaterThan(0);
    await begin();
    await go();

    await plane.reported('job1.e1', 'succeed');
    expect(plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'succeed']);
    expect(plane.leaves).toBe(0);
  });
});

describe('an agent that gives its tasks time to finish when it is told to end', () => {
  it('takes nothing new, says so, and ends with the last of them', async () => {
    const agent = await begin('--drain', '1h');
    await started('job1.e1', untilGo('echo up', 'echo 42 > out'), { outputs: ['out'] });

    const ended = terminate(agent);
    await plane.until(() => plane.leaves === 1, 'the agent says that it ends');
    plane.assign(someAssignment('job2.e1', ['true']));
    expect(await plane.reported('job2.e1', 'decline')).toMatchObject({ reason: 'the agent is stopping' });
    await go();

    expect(await ended).toBe(0);
    expect(plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'publish', 'succeed']);
  });

  it('hears meanwhile that one is to stop', async () => {
    const agent = await begin('--drain', '1h');
    await started('job1.e1', untilGo('echo up', 'true'));

    const ended = terminate(agent);
    await plane.until(() => plane.leaves === 1, 'the agent says that it ends');
    plane.desire('job1.e1', 'stop');

    expect(await ended).toBe(0);
    expect(plane.reportsOf('job1.e1').at(-1)).toMatchObject({ class: 'cancelled', code: 'stopped' });
  });

  it('ends them itself when the time is over', async () => {
    const agent = await begin('--drain', '100ms');
    const leader = await started('job1.e1', untilGo('echo up', 'true'));

    expect(await terminate(agent)).toBe(0);
    expect(plane.reportsOf('job1.e1').at(-1)).toMatchObject({ class: 'infrastructure', code: 'agent-stopped' });
    expect(membersOf(leader)).toBe(0);
  });

  it('ends them at once when it is told again', async () => {
    const agent = await begin('--drain', '1h');
    const leader = await started('job1.e1', untilGo('echo up', 'true'));

    const ended = terminate(agent);
    await plane.until(() => plane.leaves === 1, 'the agent says that it ends');
    agent.kill('SIGTERM');

    expect(await ended).toBe(0);
    expect(plane.reportsOf('job1.e1').at(-1)).toMatchObject({ class: 'infrastructure', code: 'agent-stopped' });
    expect(membersOf(leader)).toBe(0);
  });
});
