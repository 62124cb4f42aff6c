import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  count,
  eventsOf,
  eventually,
  HeldUploads,
  heldOn,
  submitLabelled,
  TestSystem,
  typesOf,
  violations,
  wholeLog,
} from '../system/index.js';

const EXECUTION_ENDS = ['ExecutionSucceeded', 'ExecutionFailed', 'ExecutionCancelled', 'ExecutionLost'];
const RESERVATION_ENDS = ['ReservationExpired', 'ReservationDeclined'];

/** Words for command lines that no other process of this machine has. */
const [LEFT, ASLEEP] = [`61.8${String(process.pid)}`, `61.9${String(process.pid)}`];

/** The living processes whose command line has this word, as `PID STATE`: seen on the node itself. */
const processes = (word: string): string[] =>
  readdirSync('/proc').flatMap((pid) => {
    try {
      if (!/^\d+$/.test(pid) || !readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)) return [];
      const state = /\) (\S) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? '?';
      return state === 'Z' ? [] : [`${pid} ${state}`];
    } catch {
      return [];
    }
  });

/** A task with a child that ignores SIGTERM in its group and a daemon outside of it. */
const stubborn = (name: string): object => ({
  task: {
    command: ['sh', '-c', `(env -i setsid sleep ${name} &) ; sh -c "trap '' TERM; sleep ${name}; true"; true`],
  },
});

/** One end for the job and one for each of its executions. */
const cancelledOnce = async (system: TestSystem, jobId: string): Promise<void> => {
  const events = await eventsOf(system.researcher(), jobId);
  expect(count(events, 'JobCancelled')).toBe(1);
  expect(count(events, 'JobCompleted', 'JobFailed')).toBe(0);
  const ends = count(events, ...EXECUTION_ENDS, ...RESERVATION_ENDS);
  expect(ends).toBe(count(events, 'ExecutionReserved'));
};

const noError = (system: TestSystem): void =>
  expect(system.report()).not.toMatch(/"level":(50|60)|"level":"(error|fatal)"/);

/** Real processes below a real agent, on the whole stack: what is stopped is gone, what is paused stands still. */
describe('stopping and pausing what really runs', () => {
  let system: TestSystem;
  let slow: Server;
  let words = 0;

  beforeAll(async () => {
    slow = createServer((request, response) => {
      if (request.method === 'HEAD') return void response.writeHead(200, { 'content-length': '1000' }).end();
      response.writeHead(200, { 'content-length': '1000' }).write('x');
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    system = await TestSystem.start();
    await addAgent('real');
  });

  afterAll(async () => {
    await system.stop();
    slow.closeAllConnections();
    await new Promise((resolve) => slow.close(resolve));
  });

  afterEach(async () => {
    const log = await eventually(
      () => wholeLog(system.operator()),
      (events) => ['real', 'publishes'].every((name) => heldOn(events, name).length === 0),
    );
    expect(violations(log)).toEqual([]);
    noError(system);
  });

  const addAgent = (name: string, url = system.url) =>
    system.addAgent(name, {
      url,
      config: {
        labels: { test: name },
        cpu: 4,
        memory: '8GiB',
        grace: '500ms',
        allowHttp: true,
        allowAddresses: ['127.0.0.1'],
        probes: { python: false },
      },
    });

  /** A word for a command line that no other process has. */
  const word = (): string => `61.${String((words += 1))}0${String(process.pid)}`;
  const submit = (change: object, label = 'real'): Promise<string> => submitLabelled(system, label, change);
  const get = (jobId: string): Promise<Record<string, unknown>> => system.researcher().get(`/jobs/${jobId}`);
  const inState = (jobId: string, ...wanted: string[]): Promise<Record<string, unknown>> =>
    eventually(
      () => get(jobId),
      ({ state }) => wanted.includes(String(state)),
    );
  const executing = (jobId: string, state: string): Promise<unknown> =>
    eventually(
      () => system.researcher().get<{ items: { state: string }[] }>(`/jobs/${jobId}/executions`),
      ({ items }) => items.some((execution) => execution.state === state),
    );
  const cancel = (jobId: string): Promise<unknown> =>
    system.researcher().post(`/jobs/${jobId}/cancel`, { reason: 'not needed any more' });
  const running = (name: string, many = 2): Promise<string[]> =>
    eventually(
      () => Promise.resolve(processes(name)),
      (found) => found.length >= many,
    );

  const endedOnce = (jobId: string): Promise<void> => cancelledOnce(system, jobId);

  describe('E-03 a job cancelled while', () => {
    it('it is queued', async () => {
      const jobId = await submit({}, 'nowhere');
      await eventually(
        () => get(jobId),
        ({ state }) => state === 'queued',
      );
      await cancel(jobId);
      await inState(jobId, 'cancelled');
      await endedOnce(jobId);
    });

    it('its reservation waits for a node that does not answer', async () => {
      const agent = system.agents.get('real')!;
      agent.signal('SIGSTOP');
      try {
        const name = word();
        const jobId = await submit({ ...stubborn(name), timeouts: { confirm: '30s' } });
        await executing(jobId, 'reserved');
        await cancel(jobId);
        await inState(jobId, 'cancelled');
        await endedOnce(jobId);
        expect(processes(name)).toEqual([]);
      } finally {
        agent.signal('SIGCONT');
      }
    });

    it('its inputs are fetched', async () => {
      const { port } = slow.address() as AddressInfo;
      const name = word();
      const source = `http://127.0.0.1:${String(port)}/never`;
      const inputs = [{ source, path: 'in', sha256: '0'.repeat(64) }];
      const jobId = await submit({ ...stubborn(name), inputs });
      await executing(jobId, 'preparing');
      await cancel(jobId);
      await inState(jobId, 'cancelled');
      await endedOnce(jobId);
      expect(processes(name)).toEqual([]);
    });

    it('it runs: its process, the child that ignores signals and the daemon are gone from the node', async () => {
      const name = word();
      const jobId = await submit(stubborn(name));
      await inState(jobId, 'running');
      await running(name);
      await cancel(jobId);
      await inState(jobId, 'cancelled');
      await endedOnce(jobId);
      expect(processes(name)).toEqual([]);
    });

    it('its outputs are published', async () => {
      const held = await HeldUploads.before(system.url);
      try {
        await addAgent('publishes', held.url);
        const task = { command: ['sh', '-c', 'echo done > out'] };
        const jobId = await submit({ task, outputs: ['out'] }, 'publishes');
        await executing(jobId, 'publishing');
        await cancel(jobId);
        await inState(jobId, 'cancelled');
        await endedOnce(jobId);
        expect(await system.agents.get('publishes')!.stop()).toBe(0);
      } finally {
        await held.stop();
      }
    });

    it('P-04 its node is away: what ran on is ended when the node comes back', async () => {
      const name = word();
      const jobId = await submit(stubborn(name));
      await inState(jobId, 'running');
      await running(name);
      const agent = system.agents.get('real')!;
      await agent.kill('SIGKILL');
      await cancel(jobId);
      expect(processes(name)).not.toEqual([]);
      await agent.start();
      await inState(jobId, 'cancelled');
      await eventually(
        () => Promise.resolve(processes(name)),
        (found) => found.length === 0,
      );
      await endedOnce(jobId);
    });
  });

  describe('A-87 a paused job', () => {
    const pause = (jobId: string): Promise<unknown> => system.researcher().post(`/jobs/${jobId}/pause`, {});
    const resume = (jobId: string): Promise<unknown> => system.researcher().post(`/jobs/${jobId}/resume`, {});
    const states = (name: string): string => [...new Set(processes(name).map((line) => line.split(' ')[1]))].join('');
    const waiter = (name: string): object => ({
      task: { command: ['sh', '-c', `(setsid sleep ${name} &); until [ -e "$HOME/../work/go" ]; do sleep 0.05; done`] },
    });

    it('G-24 stands still with its whole tree, holds what it has, and goes on where it was', async () => {
      const name = word();
      const [three, held] = [{ resources: { cpu: 3, memory: '1GiB' } }, { ...waiter(name) }];
      const jobId = await submit({ ...three, ...held, timeouts: { run: '8s' } });
      await inState(jobId, 'running');
      await running(name, 1);
      const contract = async (): Promise<unknown> => {
        const { items } = await system
          .researcher()
          .get<{ items: { contract: unknown }[] }>(`/jobs/${jobId}/executions`);
        return items[0]?.contract;
      };
      const before = await contract();
      await pause(jobId);
      await executing(jobId, 'paused');
      expect(await get(jobId)).toMatchObject({ state: 'paused' });
      expect(states(name)).toBe('T');

      const other = await submit({ ...three, task: { command: ['true'] } });
      // Longer than its run may take, by the clock of a neighbour that fits beside it.
      const clock = await submit({ task: { command: ['sleep', '8'] } });
      await inState(clock, 'completed');
      expect(await get(other)).toMatchObject({ state: 'queued' });
      await system.agents.get('real')!.kill('SIGKILL');
      await system.agents.get('real')!.start();
      expect(states(name)).toBe('T');
      expect(await get(jobId)).toMatchObject({ state: 'paused' });

      await resume(jobId);
      await executing(jobId, 'running');
      await eventually(
        () => Promise.resolve(states(name)),
        (found) => found === 'S',
      );
      expect(await contract()).toEqual(before);
      await cancel(jobId);
      await inState(jobId, 'cancelled');
      await endedOnce(jobId);
      await inState(other, 'completed');
    });

    it('can be cancelled', async () => {
      const name = word();
      const jobId = await submit(waiter(name));
      await inState(jobId, 'running');
      await running(name, 1);
      await pause(jobId);
      await executing(jobId, 'paused');
      await cancel(jobId);
      await inState(jobId, 'cancelled');
      await endedOnce(jobId);
      expect(processes(name)).toEqual([]);
    });
  });

  it('A-46 A-86 an agent killed while three tasks run, started again within the lease: three results, each once', async () => {
    const ids = await threeRunning(system, 'sleep 3');
    await system.agents.get('real')!.kill('SIGKILL');
    await system.agents.get('real')!.start();
    await completedOnce(system, ids);
    for (const id of ids) expect(count(await eventsOf(system.researcher(), id), 'ExecutionReserved')).toBe(1);
  });
});

const threeRunning = async (system: TestSystem, until: string): Promise<string[]> => {
  const task = { command: ['sh', '-c', `${until}; echo done > r`, LEFT] };
  const retry = { attempts: 3, interval: '1s', on: ['node-lost', 'infrastructure'] };
  const ids = await Promise.all([1, 2, 3].map(() => submitLabelled(system, 'real', { task, outputs: ['r'], retry })));
  for (const id of ids) await reaches(system, id, 'ExecutionStarted');
  return ids;
};

const reaches = (system: TestSystem, id: string, type: string): Promise<string[]> =>
  eventually(
    async () => typesOf(await eventsOf(system.researcher(), id)),
    (types) => types.includes(type),
  );

const completedOnce = async (system: TestSystem, ids: readonly string[]): Promise<void> => {
  for (const id of ids) {
    await reaches(system, id, 'JobCompleted');
    const events = await eventsOf(system.researcher(), id);
    expect(count(events, 'ExecutionSucceeded', 'JobCompleted', 'JobFailed', 'JobCancelled')).toBe(2);
  }
};

/** A task's own process and its supervisor, which has its command line too. */
const EACH = 2;

describe('an agent that comes back when its lease is over', () => {
  let system: TestSystem;

  beforeAll(async () => {
    system = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '6', ESCALON_LOST_AFTER: '4' } });
  });

  afterAll(async () => {
    await system.stop();
  });

  it('A-46 A-86 finds its three tasks lost and tried elsewhere, ends what ran on, and no result comes twice', async () => {
    const config = { labels: { test: 'real' }, cpu: 4, memory: '8GiB', probes: { python: false } };
    await system.addAgent('first', { config });
    const go = join(system.folder, 'go');
    const ids = await threeRunning(system, `until [ -e '${go}' ]; do sleep 0.2; done`);
    await system.agents.get('first')!.kill('SIGKILL');
    for (const id of ids) await reaches(system, id, 'JobRequeued');
    await system.addAgent('second', { config });
    await system.agents.get('first')!.start();
    for (const id of ids)
      await eventually(
        () => eventsOf(system.researcher(), id),
        (events) => count(events, 'ExecutionStarted') === 2,
      );
    await eventually(
      () => Promise.resolve(processes(LEFT)),
      (found) => found.length === 3 * EACH,
    );
    await writeFile(go, '');
    await completedOnce(system, ids);
    for (const id of ids) {
      const events = await eventsOf(system.researcher(), id);
      expect(count(events, 'ExecutionLost')).toBe(1);
      expect(count(events, 'ExecutionReserved')).toBe(2);
      expect(events.filter(({ type }) => type === 'ExecutionReserved').map(({ data }) => data.nodeId)).toEqual([
        'first',
        'second',
      ]);
    }
    const log = await eventually(
      () => wholeLog(system.operator()),
      (events) => ['first', 'second'].every((name) => heldOn(events, name).length === 0),
    );
    expect(violations(log)).toEqual([]);
    expect(processes(LEFT)).toEqual([]);
  });

  it('S-07 P-04 a job is stopped while its node is offline: it stops when the node comes back', async () => {
    const config = { labels: { test: 'asleep' }, grace: '500ms', probes: { python: false } };
    const agent = await system.addAgent('asleep', { config });
    const jobId = await submitLabelled(system, 'asleep', stubborn(ASLEEP));
    await reaches(system, jobId, 'ExecutionStarted');
    await eventually(
      () => Promise.resolve(processes(ASLEEP)),
      (found) => found.length >= 2,
    );
    agent.signal('SIGSTOP');
    await eventually(
      () => wholeLog(system.operator()),
      (log) => log.some(({ type, stream }) => type === 'NodeWentOffline' && stream === 'node-asleep'),
    );
    await system.researcher().post(`/jobs/${jobId}/cancel`, { reason: 'not needed any more' });
    expect(processes(ASLEEP)).not.toEqual([]);
    agent.signal('SIGCONT');
    await reaches(system, jobId, 'JobCancelled');
    await eventually(
      () => Promise.resolve(processes(ASLEEP)),
      (found) => found.length === 0,
    );
    await cancelledOnce(system, jobId);
    const log = await eventually(
      () => wholeLog(system.operator()),
      (events) => heldOn(events, 'asleep').length === 0,
    );
    expect(violations(log)).toEqual([]);
    noError(system);
  });
});
