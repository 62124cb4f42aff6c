import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issueToken } from '#platform/auth';
import { tarGzOf, zipOf } from '../../apps/agent/testing/archives.js';
import { eventsOf, SECRET, TestSystem } from '../system/index.js';
import { runEscalon } from './escalon-process.js';

/** Archives as inputs, from the files of the one who submits to the folder of the task, through the whole system. */
describe('A-07 archives as inputs', () => {
  let system: TestSystem;
  let folder: string;

  beforeAll(async () => {
    system = await TestSystem.start();
    folder = join(system.folder, 'study');
    await mkdir(join(folder, 'numbers', 'deep'), { recursive: true });
    await system.addAgent('worker');
  });

  afterAll(async () => {
    await system.stop();
  });

  const escalon = async (...args: readonly string[]) => {
    const token = await issueToken(SECRET, { role: 'researcher', account: 'ada' });
    return runEscalon(args, { ESCALON_URL: system.url, ESCALON_TOKEN: token });
  };

  const submitted = async (text: string) => {
    const file = join(folder, 'job.yaml');
    await writeFile(file, text);
    const { out, code } = await escalon('job', 'submit', file, '--wait', '--timeout', '100s');
    return { ids: out.match(/[0-9a-f-]{36}/g) ?? [], code };
  };

  const stdoutOf = (jobId: string): Promise<unknown> => system.researcher().get(`/jobs/${jobId}/logs?stream=stdout`);

  it('of one’s own are stored, recorded with the job, unpacked and read; a rerun does so again', async () => {
    for (const [name, text] of [
      ['a.csv', '1\n2\n'],
      ['deep/b.csv', '3\n'],
    ] as const)
      await writeFile(join(folder, 'numbers', name), text);
    execFileSync('tar', ['-czf', 'numbers.tar.gz', '-C', 'numbers', '.'], { cwd: folder });
    await writeFile(join(folder, 'more'), zipOf({ name: 'c.csv', content: '40\n' }));

    const { ids, code } = await submitted(`
name: sum
project: demo
task: { command: [sh, -c, 'find in -name "*.csv" | sort | xargs cat | paste -sd+ | tee sum'] }
inputs:
  - { source: ./numbers.tar.gz, path: in/numbers, unpack: true }
  - { source: ./more, path: in/more, unpack: true }
outputs: [sum]
`);

    expect(code).toBe(0);
    expect(await stdoutOf(ids[0]!)).toBe('40+1+2+3\n');
    const [first] = await eventsOf(system.researcher(), ids[0]!);
    expect((first?.data['spec'] as { inputs: object[] }).inputs).toMatchObject([
      { path: 'in/numbers', unpack: true },
      { path: 'in/more', unpack: true },
    ]);
    const rerun = await escalon('job', 'rerun', ids[0]!, '--wait', '--timeout', '100s');
    expect(rerun).toMatchObject({ code: 0 });
    const [again] = rerun.out.match(/[0-9a-f-]{36}/g) ?? [];
    expect(await stdoutOf(again!)).toBe('40+1+2+3\n');
  });

  it('that another job left are unpacked too', async () => {
    const { ids, code } = await submitted(`
jobs:
  - name: pack
    project: demo
    task: { command: [sh, -c, 'mkdir d; echo packed > d/f; tar -czf all.tgz d'] }
    outputs: [all.tgz]
  - name: read
    project: demo
    task: { command: [cat, in/d/f] }
    inputs: [{ source: 'job:#pack/all.tgz', path: in, unpack: true }]
`);
    expect(code).toBe(0);
    expect(await stdoutOf(ids[1]!)).toBe('packed\n');
  });

  it('that mean harm fail the job, which says why', async () => {
    await writeFile(
      join(folder, 'evil.tgz'),
      await tarGzOf({ name: 'ok' }, { name: '../../etc/passwd', content: 'x' }),
    );
    const { ids, code } = await submitted(`
name: evil
project: demo
task: { command: [touch, never] }
inputs: [{ source: evil.tgz, path: data, unpack: true }]
`);
    expect(code).not.toBe(0);
    expect(await system.researcher().get(`/jobs/${ids[0]!}`)).toMatchObject({ state: 'failed' });
    const shown = await escalon('job', 'show', ids[0]!);
    expect(shown.out).toContain('the archive for data is refused: its entry "../../etc/passwd" leads out with ..');
    expect(shown.out).toMatch(/input/);
    const events = await eventsOf(system.researcher(), ids[0]!);
    const failed = events.filter(({ type }) => type === 'ExecutionFailed');
    expect(failed.map(({ data }) => [data['class'], data['code']])).toEqual([['input', 'archive-entry']]);
    expect(events.some(({ type }) => type === 'ExecutionStarted')).toBe(false);
  });
});
