import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, TestSystem } from '../system/index.js';
import { runEscalon } from './escalon-process.js';

interface Queued {
  readonly name: string;
  readonly reason: string;
  readonly lines: readonly { pool: string; place: number; behind: string | null; expectedStart: string | null }[];
}

/** One node of two cores: a job has one of them for ten minutes as it says, one wants both, a small one wants what is left. */
describe('a pool, on real processes and through the command line', () => {
  let system: TestSystem;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    system = await TestSystem.start();
    await system.addAgent('lab-1', { config: { cpu: 2, memory: '8GiB', probes: { python: false } } });
  });

  afterAll(() => system.stop());

  const escalon = async (...args: string[]): Promise<string> => {
    const token = await system.operator().token;
    const { code, out, err } = await runEscalon([...args, '--url', system.url, '--token', token]);
    expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
    return out;
  };

  const gate = (): string => join(system.folder, 'gate');

  const submit = async (name: string, cpu: number, duration: string, command: readonly string[]): Promise<void> => {
    const file = join(system.folder, `${name}.json`);
    const job = {
      name,
      project: 'demo',
      resources: { cpu, memory: '64MiB' },
      estimate: { duration },
      task: { command },
    };
    await writeFile(file, JSON.stringify(job));
    ids.set(name, (await escalon('job', 'submit', file)).trim());
  };

  const idOf = (name: string): string => ids.get(name) ?? '';

  const state = async (name: string): Promise<string> =>
    (JSON.parse(await escalon('job', 'show', idOf(name), '--output', 'json')) as { state: string }).state;

  const queued = async (): Promise<Map<string, Queued>> => {
    const entries = JSON.parse(await escalon('queue', '--output', 'json')) as Queued[];
    return new Map(entries.map((entry) => [entry.name, entry]));
  };

  /** Once it was looked at: it stands in its line as soon as it is known, and its first decision says why. */
  const isQueued = (name: string, place: number) =>
    eventually(queued, (all) => {
      const { lines, reason } = all.get(name) ?? {};
      return lines?.[0]?.place === place && reason?.includes('first look') === false;
    });

  it('G-01 `fifo` keeps a small job waiting behind the first, though it would fit', async () => {
    await escalon('pool', 'set', 'lab', '--discipline', 'fifo', '--nodes', 'lab-1');
    await submit('running', 1, '10m', ['sh', '-c', `until [ -e ${gate()} ]; do sleep 0.1; done`]);
    await eventually(
      () => state('running'),
      (now) => now === 'running',
    );
    await submit('large', 2, '1m', ['true']);
    await isQueued('large', 1);
    await submit('small', 1, '30s', ['true']);
    const waiting = (await isQueued('small', 2)).get('small');
    expect(waiting?.lines).toEqual([{ pool: 'lab', place: 2, behind: idOf('large'), expectedStart: null }]);
    expect(waiting?.reason).toContain('another job is first in the line of its pool');
    expect(await escalon('job', 'explain', idOf('large'))).toContain('expected to start on lab-1 at ');
  });

  it('`backfill` runs it, for it is over before the first is expected to start', async () => {
    await escalon('pool', 'set', 'lab', '--discipline', 'backfill', '--where', 'node.cpu = 2');
    await escalon('job', 'wait', idOf('small'), '--timeout', '200s');
    const first = (
      await eventually(queued, (all) => typeof all.get('large')?.lines[0]?.expectedStart === 'string')
    ).get('large');
    expect(first?.lines).toEqual([
      { pool: 'lab', place: 1, behind: null, expectedStart: expect.stringMatching(/^\d{4}-.*Z$/) as unknown as string },
    ]);
    expect(await escalon('pool', 'list')).toMatch(
      new RegExp(`lab +backfill +lab-1 +1 +${idOf('large')} +\\d{4}-.* on lab-1`),
    );
  });

  it('A-21 the first starts when there is room, and every decision derives again', async () => {
    await writeFile(gate(), '');
    await escalon('job', 'wait', idOf('large'), '--timeout', '200s');
    await escalon('audit', 'verify');
    await escalon('pool', 'delete', 'lab');
    expect(JSON.parse(await escalon('pool', 'list', '--output', 'json'))).toEqual([]);
  });
});
