import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../testing/terminal.js';
import type { Ran } from '../testing/terminal.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'escalon-simulate-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (nodes: string, jobs: string, ...flags: string[]): Promise<Ran> => {
  writeFileSync(join(folder, 'nodes.csv'), nodes);
  writeFileSync(join(folder, 'jobs.csv'), jobs);
  return runCli(['simulate', '--nodes', 'nodes.csv', '--jobs', 'jobs.csv', ...flags], { cwd: folder });
};

const NODES = 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,65536,1,T4\n';
const JOBS =
  'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n' +
  'first,1000,1024,1,1000,,,,0,100,\nsecond,1000,1024,1,500,T4|T4,,,10,70,\nfar,9000,1024\n';

describe('simulate', () => {
  it('A-33 runs a trace and tells what came of it, for people and as JSON', async () => {
    const table = await run(NODES, JOBS);
    expect(table).toMatchObject({ code: 0, err: '' });
    expect(table.out).toMatch(/placed: +2, not placed 1 \(1 fit no node\)/);
    expect(table.out).toMatch(/allocated at 100 % arrivals: +100.00 % of the GPUs, 12.50 % of the cores/);
    expect(table.out).toMatch(/waits: +median 0 s, p90 1 min 30 s/);
    expect(table.out).toMatch(/1 +never +.*CPU/i);
    const json = await run(NODES, JOBS, '--output', 'json', '--json', 'out.json');
    expect(JSON.parse(json.out)).toMatchObject({ placed: 2, waits: { max: 90 }, options: { seed: 42 } });
    expect(readFileSync(join(folder, 'out.json'), 'utf8')).toBe(json.out);
  });

  it('2 with every mistake of the flags and of both files, by line', async () => {
    const ran = await run(
      'sn,cpu_milli,memory_mib\nn1,x,1\nn1,1,1\n',
      'name,memory_mib\n',
      ...['--seed', '-1', '--inflate', '0', '--profile', 'fast', '--weights', 'resources=101,luck=1'],
    );
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err.trim().split('\n')).toEqual([
      'error: nodes.csv:2: cpu_milli must be a number from 0, not "x"',
      'error: nodes.csv:3: sn n1 was taken on line 2',
      'error: jobs.csv:1: the column cpu_milli is missing',
      'error: --weights gives resources "101", which is not 0 to 100',
      'error: --weights names "luck", which is no factor',
      'error: --weights must name all five; reliability, availability, queue, cost missing',
      'error: --inflate must be a number above 0, at most 100, not "0"',
      'error: --profile must be one of balanced, cpu, gpu, memory, interactive, long, cheap, not "fast"',
      'error: --profile and --weights exclude each other',
      'error: --seed must be a whole number from 0 to 4294967295, not "-1"',
    ]);
  });

  it('2 for a file that is not there, and for an inflation without GPUs', async () => {
    const absent = await runCli(['simulate', '--nodes', 'none.csv', '--jobs', 'none.csv'], { cwd: folder });
    expect(absent.code).toBe(2);
    expect(absent.err).toContain('none.csv cannot be read: there is no such file');
    const bare = await run('sn,cpu_milli,memory_mib\na,1,1\n', JOBS, '--inflate', '1.3');
    expect(bare).toMatchObject({ code: 2, err: 'error: --inflate goes by GPUs, and nodes.csv has none\n' });
  });

  it('2 before the run when the summary could not be written', async () => {
    const nowhere = await run(NODES, JOBS, '--json', 'nowhere/x.json');
    const said = 'error: --json nowhere/x.json cannot be written: there is no such folder\n';
    expect(nowhere).toEqual({ code: 2, out: '', err: said });
    expect((await run(NODES, JOBS, '--json', '.')).err).toContain('it is a folder, not a file');
  });

  it('1 when writing fails after it, the summary told all the same', async () => {
    const ran = await run(NODES, JOBS, '--json', '/dev/full');
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/placed: +2/);
    expect(ran.err).toMatch(/^error: \/dev\/full could not be written: /);
  });

  it('2 for quotes in a trace, by line', async () => {
    const ran = await run(NODES, `${JOBS}"z,1,1\n`);
    const said = 'error: jobs.csv:5: quotes are not understood; write the cells without them\n';
    expect(ran).toEqual({ code: 2, out: '', err: said });
  });
});
