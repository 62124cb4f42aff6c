import { afterAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appsBelow, eventually, isAlive, runEscalon, startEscalon } from './escalon-process.js';
import type { EscalonProcess } from './escalon-process.js';
import type { AddressInfo } from 'node:net';

const data = join(mkdtempSync(join(tmpdir(), 'escalon up ')), 'data');
const started: EscalonProcess[] = [];

const up = async (): Promise<EscalonProcess> => {
  const process = startEscalon(['up', '--port', '0', '--data', data, '--output', 'json']);
  started.push(process);
  expect(JSON.parse(await process.firstLine)).toMatchObject({ ready: true });
  return process;
};

const escalon = (...args: string[]) => runEscalon([...args, '--data', data]);

afterAll(async () => {
  for (const process of started) process.child.kill('SIGTERM');
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(join(data, '..'), { recursive: true, force: true });
});

describe('escalon up', () => {
  let jobId = '';

  it('runs the system, and a job in it, in a folder with a space in its path', async () => {
    await up();
    const submitted = await escalon('job', 'submit', 'examples/census/job.yaml', '--wait', '--timeout', '200s');
    expect({ code: submitted.code, err: submitted.err }).toMatchObject({ code: 0 });
    jobId = submitted.out.trim();
  });

  it('a second start on the same folder is told who runs there', async () => {
    const second = await runEscalon(['up', '--port', '0', '--data', data]);
    expect(second.code).toBe(1);
    expect(second.err).toContain(`pid ${started[0]!.pid}`);
    expect(second.err).toContain('http://127.0.0.1:');
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(second.err)?.[1] ?? '';
    const samePort = await runEscalon(['up', '--port', port, '--data', data]);
    expect(samePort.err).toBe(second.err);
  });

  it('a part that dies is started again on the same address', async () => {
    const supervisor = started[0]!.pid;
    const before = appsBelow(supervisor);
    expect([...before.keys()].sort()).toEqual(['agent', 'eventstore', 'orchestrator']);
    for (const app of ['eventstore', 'orchestrator', 'agent']) process.kill(before.get(app)!, 'SIGKILL');
    await eventually('each part runs again', () => {
      const now = appsBelow(supervisor);
      return [...before].every(([app, pid]) => now.has(app) && now.get(app) !== pid);
    });
    await eventually('it answers', async () => (await escalon('job', 'list')).code === 0);
    const again = await escalon('job', 'submit', 'examples/census/job.yaml', '--wait', '--timeout', '200s');
    expect({ code: again.code, err: again.err }).toMatchObject({ code: 0 });
  });

  it('no part outlives a supervisor that is killed', async () => {
    const [first] = started;
    const parts = [...appsBelow(first!.pid).values()];
    expect(parts).toHaveLength(3);
    first!.child.kill('SIGKILL');
    await eventually('every part has ended', () => parts.every((pid) => !isAlive(pid)));
  });

  it('the next start resumes: every job is still there', async () => {
    await up();
    const shown = await escalon('job', 'show', jobId, '--output', 'json');
    expect(JSON.parse(shown.out)).toMatchObject({ id: jobId, state: 'completed' });
  });

  it('SIGTERM stops every part and leaves the folder free', async () => {
    const running = started.at(-1)!;
    const parts = [...appsBelow(running.pid).values()];
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0, signal: null });
    expect(parts.filter(isAlive)).toEqual([]);
    expect(existsSync(join(data, 'url'))).toBe(false);
    expect(existsSync(join(data, 'postgres', 'data', 'postmaster.pid'))).toBe(false);
  });

  it('a port that is taken is named with its holder', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    const { port } = holder.address() as AddressInfo;
    const refused = await runEscalon(['up', '--port', String(port), '--data', data]);
    holder.close();
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(`port ${port}`);
    expect(refused.err).toContain(`pid ${process.pid}`);
  });
});

describe('escalon demo', () => {
  it('A-95 A-97 shows two real jobs, checks their record, and leaves the results', async () => {
    const out = mkdtempSync(join(tmpdir(), 'escalon-demo-out-'));
    const ran = await runEscalon(['demo', '--out', out]);
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: '' });
    expect(ran.out.match(/✓/g)).toHaveLength(9);
    for (const file of ['primes/result.json', 'census/result.json', 'census/gpus.svg']) {
      expect(existsSync(join(out, file))).toBe(true);
    }
    rmSync(out, { recursive: true });
  });
});
