import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, heldOn, ProtocolNode, TestSystem, violations, wholeLog } from '../system/index.js';

const JOBS = 200;
const NODES = 10;

/** Both schedule at once: the leader's lock is off, so nothing but revisions keeps them apart. */
describe('two control planes on one store and database', () => {
  let system: TestSystem;
  let over = false;

  beforeAll(async () => {
    system = await TestSystem.start({ orchestrators: 2, env: { ESCALON_SCHEDULER_LOCK: 'off' } });
  });

  afterAll(async () => {
    over = true;
    await system.stop();
  });

  /** Through either control plane, until the test is over. */
  const work = (name: string, orchestrator: number): Promise<void> =>
    new ProtocolNode(name, system.node(name, orchestrator)).work(() => over);

  it('A-17 A-39 A-80 200 jobs on 10 nodes: each completes once, no node is over-committed', async () => {
    const names = Array.from({ length: NODES }, (_, index) => `n-${String(index)}`);
    for (const name of names) {
      await new ProtocolNode(name, system.as({ role: 'node', account: 'enrol' })).enrol({
        cpu: 2,
        memory: 4 * 1024 ** 3,
      });
    }
    const working = names.map((name, index) => work(name, index % 2).catch((error: unknown) => error));
    const spec = { name: 'many', project: 'demo', resources: { cpu: 1, memory: '1GiB' }, task: { command: ['true'] } };
    const ids = await Promise.all(
      Array.from({ length: JOBS }, async (_, index) => {
        const { id } = await system.researcher('ada', index % 2).post<{ id: string }>('/jobs', spec);
        return id;
      }),
    );
    const log = await eventually(
      () => wholeLog(system.operator()),
      (events) =>
        events.filter(({ type }) => type === 'JobCompleted').length === JOBS &&
        names.every((name) => heldOn(events, name).length === 0),
    );
    expect(violations(log)).toEqual([]);
    const completed = log.filter(({ type }) => type === 'JobCompleted').map(({ stream }) => stream);
    expect(new Set(completed)).toEqual(new Set(ids.map((id) => `job-${id}`)));
    const schedulers = await Promise.all(system.urls.map(async (url) => (await fetch(`${url}/readyz?verbose`)).json()));
    expect(schedulers).toMatchObject([{ schedules: true }, { schedules: true }]);
    over = true;
    expect((await Promise.all(working)).filter((error) => error !== undefined)).toEqual([]);
  });
});
