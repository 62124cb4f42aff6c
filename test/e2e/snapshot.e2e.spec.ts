import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  eventsOf,
  eventually,
  heldOn,
  ProtocolNode,
  TestSystem,
  typesOf,
  violations,
  wholeLog,
} from '../system/index.js';

const BEGINS = 'the cluster begins from a snapshot';
const DROPPED = 'a snapshot cannot be used and is dropped';

/** One job runs, one reservation waits for its node's word, one job waits for room; then the control plane is restarted. */
describe('a control plane that is started again', () => {
  let system: TestSystem;
  let node: ProtocolNode;
  let snapshots = '';

  beforeAll(async () => {
    system = await TestSystem.start({ env: { ESCALON_SNAPSHOT_EVERY: '10', ESCALON_OFFLINE_AFTER: '600' } });
    snapshots = join(system.folder, 'data', 'snapshots');
    await new ProtocolNode('n-1', system.as({ role: 'node', account: 'enrol' })).enrol({ cpu: 2 });
    node = new ProtocolNode('n-1', system.node('n-1'));
  });

  afterAll(() => system.stop());

  const submit = async (change: object): Promise<string> => {
    const spec = { name: 'x', project: 'demo', resources: { cpu: 1, memory: '1GiB' }, task: { command: ['true'] } };
    return (await system.researcher().post<{ id: string }>('/jobs', { ...spec, ...change })).id;
  };

  const recorded = (jobId: string, type: string): Promise<unknown> =>
    eventually(
      async () => typesOf(await eventsOf(system.researcher(), jobId)),
      (types) => types.includes(type),
    );

  const run = async (jobId: string): Promise<void> => {
    const execution = await node.assigned(jobId);
    await node.report('confirm', execution);
    await node.report('start', execution);
    await node.succeed(execution);
    await recorded(jobId, 'JobCompleted');
  };

  const stop = async (): Promise<void> => {
    expect(await system.orchestrators[0]!.stop()).toBe(0);
  };
  const kill = async (): Promise<void> => {
    await system.orchestrators[0]!.kill('SIGKILL');
  };
  const spoil = async (): Promise<void> => {
    await stop();
    for (const file of await readdir(snapshots)) await writeFile(join(snapshots, file), 'spoilt\n');
  };
  const remove = async (): Promise<void> => {
    await stop();
    await rm(snapshots, { recursive: true });
  };

  it.each([
    ['stopped in order', stop, [BEGINS]],
    ['killed', kill, [BEGINS]],
    ['stopped, its snapshots spoilt', spoil, [DROPPED]],
    ['stopped, its snapshots deleted', remove, []],
  ] as const)('B-63 P-02 A-38 %s, goes on where it was', async (_how, end, words) => {
    const running = await submit({ name: 'running' });
    const execution = await node.assigned(running);
    await node.report('confirm', execution);
    await node.report('start', execution);
    const waiting = await submit({ name: 'waiting', resources: { cpu: 2, memory: '1GiB' } });
    await recorded(waiting, 'PlacementDecided');
    const silent = await submit({ name: 'silent', timeouts: { confirm: '5s' } });
    const before = await eventually(
      () => node.assignments(),
      ({ executions }) => executions.length === 2,
    );
    expect(before.executions.map(({ jobId }) => jobId)).toEqual([running, silent]);

    await end();
    const said = system.orchestrators[0]!.output.length;
    await system.orchestrators[0]!.start();
    const heard = system.orchestrators[0]!.output.slice(said);
    for (const word of [BEGINS, DROPPED]) expect(heard.includes(word)).toBe(words.some((each) => each === word));

    expect(await node.assignments()).toEqual(before);
    await recorded(silent, 'ReservationExpired');
    await system.researcher().post(`/jobs/${silent}/cancel`, { reason: 'enough' });
    await node.succeed(execution);
    await recorded(running, 'JobCompleted');
    await run(waiting);
    const log = await eventually(
      () => wholeLog(system.operator()),
      (events) => heldOn(events, 'n-1').length === 0,
    );
    expect(violations(log)).toEqual([]);
  });
});
