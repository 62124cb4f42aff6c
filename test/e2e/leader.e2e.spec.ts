import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, ProtocolNode, TestSystem, violations, wholeLog } from '../system/index.js';

const SPEC = { name: 'led', project: 'demo', resources: { cpu: 1, memory: '1GiB' }, task: { command: ['true'] } };

/** The lock is there for speed, so all that is asked of a change of leaders is that work goes on and is recorded once. */
describe('two control planes, of which one leads', () => {
  let system: TestSystem;
  let node: ProtocolNode;
  let leader: number;

  const schedules = async (index: number): Promise<boolean> => {
    const answer = await fetch(`${system.urls[index]!}/readyz?verbose`, { signal: AbortSignal.timeout(2_000) });
    return ((await answer.json()) as { schedules?: boolean }).schedules === true;
  };

  /** A job that was submitted to the one that stands by, from its reservation to its end. */
  const runsThrough = async (index: number): Promise<void> => {
    const { id } = await system.researcher('ada', index).post<{ id: string }>('/jobs', SPEC);
    const reserved = await eventually(
      () => node.assignments(undefined, '0s'),
      ({ executions }) => executions.some(({ jobId }) => jobId === id),
    );
    const execution = reserved.executions.find(({ jobId }) => jobId === id)!;
    expect(await node.report('confirm', execution)).toMatchObject({ accepted: true });
    await node.succeed(execution);
  };

  beforeAll(async () => {
    system = await TestSystem.start({ orchestrators: 2 });
    const leads = await eventually(
      () => Promise.all([schedules(0), schedules(1)]),
      (all) => all.filter(Boolean).length === 1,
    );
    leader = leads.indexOf(true);
    await new ProtocolNode('n1', system.as({ role: 'node', account: 'enrol' })).enrol({
      cpu: 4,
      memory: 8 * 1024 ** 3,
    });
  });

  afterAll(async () => {
    await system.stop();
  });

  it('a leader that stands still is followed by the other, and does no harm when it wakes up', async () => {
    const other = 1 - leader;
    node = new ProtocolNode('n1', system.node('n1', other));
    await runsThrough(other);
    process.kill(system.orchestrators[leader]!.pid, 'SIGSTOP');
    await eventually(() => schedules(other), Boolean);
    await runsThrough(other);
    process.kill(system.orchestrators[leader]!.pid, 'SIGCONT');
    await eventually(
      () => schedules(leader).catch(() => true),
      (leads) => !leads,
    );
    await runsThrough(other);
    await eventually(() => schedules(other), Boolean);
    expect(violations(await wholeLog(system.operator(other)))).toEqual([]);
    leader = other;
  });

  it('a leader that is killed is followed by the other, and what waits is placed', async () => {
    const other = 1 - leader;
    node = new ProtocolNode('n1', system.node('n1', other));
    await system.orchestrators[leader]!.kill('SIGKILL');
    await runsThrough(other);
    await eventually(() => schedules(other), Boolean);
    const log = await wholeLog(system.operator(other));
    expect(violations(log)).toEqual([]);
    expect(log.filter(({ type }) => type === 'JobCompleted')).toHaveLength(4);
  });
});
