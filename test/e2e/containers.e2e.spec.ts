import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issueToken } from '#platform/auth';
import { startEngine, TINY } from '../../apps/agent/testing/real-engine.js';
import { eventsOf, eventually, SECRET, submitLabelled, TestSystem } from '../system/index.js';
import { runEscalon } from './escalon-process.js';

const engine = await startEngine('podman');
if (typeof engine === 'string') process.stderr.write(`skipped: jobs with an image: ${engine}\n`);

(typeof engine === 'string' ? describe.skip : describe)('a job with a container image', () => {
  let system: TestSystem;
  let env: Readonly<Record<string, string>>;

  beforeAll(async () => {
    if (typeof engine === 'string') return;
    const { name, program } = engine;
    system = await TestSystem.start();
    const labels = { test: 'image' };
    await system.addAgent('plain', { config: { labels, containers: { engine: 'none' } } });
    await system.addAgent('engine', {
      config: { labels, containers: { engine: name, path: program, network: 'none' } },
    });
    const researcher = { role: 'researcher', account: 'ada' } as const;
    env = { ESCALON_URL: system.url, ESCALON_TOKEN: await issueToken(SECRET, researcher) };
    await eventually(
      () => system.operator().get<{ inventory: { container?: object } }>('/nodes/engine'),
      ({ inventory }) => inventory.container !== undefined,
    );
  });

  afterAll(async () => {
    if (typeof engine === 'string') return;
    await system.stop();
    await engine.stop();
  });

  const ended = (jobId: string): Promise<Record<string, unknown>> =>
    eventually(
      () => system.researcher().get<Record<string, unknown>>(`/jobs/${jobId}`),
      ({ state }) => ['completed', 'failed'].includes(String(state)),
    );

  it('runs on the node with an engine, which is explained, and its results are recorded', async () => {
    const jobId = await submitLabelled(system, 'image', {
      resources: { cpu: 0.5, memory: '64MiB' },
      task: { image: TINY, command: ['sh', '-c', 'echo "in $ESCALON_JOB_ID"; echo 42 > answer.txt'] },
      outputs: ['answer.txt'],
    });

    expect(await ended(jobId)).toMatchObject({ state: 'completed' });
    const { items } = await system
      .researcher()
      .get<{ items: { artifacts: { sha256: string }[] }[] }>(`/jobs/${jobId}/executions`);
    expect(items).toMatchObject([{ nodeId: 'engine', artifacts: [{ path: 'answer.txt', size: 3 }] }]);
    expect(String(await system.researcher().get(`/artifacts/${items[0]!.artifacts[0]!.sha256}`))).toContain('42');
    expect(await system.researcher().get(`/jobs/${jobId}/logs?stream=stdout`)).toBe(`in ${jobId}\n`);
    expect((await eventsOf(system.researcher(), jobId))[0]?.data).toMatchObject({ spec: { task: { image: TINY } } });

    const explained = await runEscalon(['job', 'explain', jobId, '--node', 'plain'], env);
    expect(explained.out).toContain('no container engine');
    expect((await runEscalon(['job', 'show', jobId], env)).out).toContain(TINY);
    const plan = await system.researcher().post<object>('/jobs/plan', {
      ...{ name: 'later', project: 'demo', constraints: ['test = image', 'node.id = plain'] },
      task: { image: TINY },
    });
    expect(JSON.stringify(plan)).toContain('software.container');
  });

  it('fails by its own input when the image cannot be had', async () => {
    const image = 'localhost:1/absent:1';
    const jobId = await submitLabelled(system, 'image', { task: { image } });
    expect(await ended(jobId)).toMatchObject({
      state: 'failed',
      lastFailure: { failure: { class: 'input', code: 'image-unavailable' } },
    });
  });
});
