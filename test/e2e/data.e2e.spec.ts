import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { enrolLabelled, eventsOf, eventually, submitLabelled, TestSystem } from '../system/index.js';

const MIB = 1024 ** 2;

/** What jobs read and leave behind, through the whole system. */
describe('the data of jobs', () => {
  let system: TestSystem;

  beforeAll(async () => {
    system = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '600' } });
  });

  afterAll(async () => {
    await system.stop();
  });

  const stored = async (text: string): Promise<string> => {
    const sha256 = createHash('sha256').update(text).digest('hex');
    const answer = await system.researcher().request('PUT', `/artifacts/${sha256}`, text);
    expect(answer.status).toBe(200);
    return sha256;
  };

  /** As the submission recorded them. */
  const inputsOf = async (jobId: string): Promise<unknown> => {
    const [submitted] = await eventsOf(system.researcher(), jobId);
    return (submitted?.data.spec as { inputs: unknown }).inputs;
  };

  const cache = (node: string, ...inputs: string[]): Promise<{ status: number; body: { code?: string } }> =>
    system.node(node).request('PUT', `/nodes/${node}/cache`, { inputs });

  it('A-36 A-41 go where they are already, as far as nodes say', async () => {
    await enrolLabelled(system, 'has-two', 'data');
    await enrolLabelled(system, 'has-one', 'data');
    const digests = await Promise.all(['1', '2', '3'].map((text) => stored(text.repeat(2 * MIB))));
    const inputs = digests.map((sha256, index) => ({ source: `sha256:${sha256}`, path: String(index) }));
    expect((await cache('has-two', digests[0]!, digests[1]!)).status).toBe(200);
    expect((await cache('has-one', digests[2]!)).status).toBe(200);
    expect((await cache('has-one', digests[2]!)).status).toBe(200);
    expect(await cache('has-one')).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(await cache('nobody', digests[0]!)).toMatchObject({ status: 404 });
    expect((await system.node('has-one').request('PUT', '/nodes/has-two/cache', { inputs: [] })).body).toMatchObject({
      code: 'WRONG_NODE',
    });

    const jobId = await submitLabelled(system, 'data', { inputs });

    expect(await inputsOf(jobId)).toEqual(inputs.map((input) => ({ ...input, size: 2 * MIB })));
    const decision = await eventually(
      () => system.researcher().request('GET', `/jobs/${jobId}/decisions/1`),
      ({ status }) => status === 200,
    );
    expect(decision.body.ranking.map(({ nodeId, inputs: there }: Record<string, unknown>) => [nodeId, there])).toEqual([
      ['has-two', { of: 3, present: 2, missing: 2 * MIB }],
      ['has-one', { of: 3, present: 1, missing: 4 * MIB }],
    ]);
    expect(decision.body.explanation).toContain(
      'has-two has 2 of 3 inputs, about 2 MiB to fetch; runner-up has-one has 1 of 3 inputs, about 4 MiB to fetch.',
    );
    const other = await system.researcher().get(`/jobs/${jobId}/decisions/1?node=has-one`);
    expect(other.explanation).toContain('It had 1 of 3 inputs, about 4 MiB to fetch.');
    expect(await system.operator().get('/nodes/has-two')).toMatchObject({ cachedInputs: 2 });
  });

  it('A-07 are pinned to their digest when the job that left them has ended, and missed when it left none', async () => {
    const node = await enrolLabelled(system, 'leaves', 'pinned');
    const first = await submitLabelled(system, 'pinned');
    const early = await system
      .researcher()
      .post('/jobs', { ...spec('pinned'), inputs: [{ source: `job:${first}/out`, path: 'in' }] });
    const execution = await node.assigned(first);
    const sha256 = await stored('out');
    await node.report('confirm', execution);
    const artifact = { path: 'out', sha256, size: 3, mediaType: 'text/plain' };
    await node.succeed(execution, { artifacts: [artifact] });

    const late = await system.researcher().post('/jobs', {
      ...spec('pinned'),
      inputs: [
        { source: `job:${first}/out`, path: 'in' },
        { source: `job:${first}/gone`, path: 'gone' },
        { source: `sha256:${'0'.repeat(64)}`, path: 'later' },
      ],
    });

    expect(await inputsOf(early.id)).toEqual([{ source: `job:${first}/out`, path: 'in' }]);
    expect((await node.assigned(early.id)).inputs).toEqual([
      { source: `job:${first}/out`, path: 'in', sha256, size: 3 },
    ]);
    expect(await inputsOf(late.id)).toContainEqual({ source: `job:${first}/out`, path: 'in', sha256, size: 3 });
    expect(late.warnings).toEqual([
      `/inputs/1: job ${first} has ended and left no gone`,
      '/inputs/2: the artifact store does not have this content yet',
    ]);
  });

  const spec = (label: string): object => ({
    name: label,
    project: 'demo',
    constraints: [`test = ${label}`],
    task: { command: ['true'] },
  });
});
