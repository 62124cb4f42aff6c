import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandHandler, connectEventStore } from '#event-store';
import type { ConnectedEventStore } from '#event-store';
import { jobDecider } from '#jobs';
import type { JobCommand, JobEvent, JobState } from '#jobs';
import { systemClock, systemIds, systemRandom, systemTimers, toInstant } from '#kernel';
import {
  consumption,
  count,
  enrolLabelled,
  eventsOf,
  eventually,
  heldOn,
  submitLabelled,
  TestSystem,
  violations,
  wholeLog,
} from '../system/index.js';
import type { ManagedProcess, ProtocolNode, RawEvent } from '../system/index.js';

/** Seconds of silence until a node is offline, and from then until what it ran is lost. */
const [OFFLINE, LOST] = [8, 4];
/** Seconds from one look at all that waits, or should be over, to the next. */
const SWEEP = 5;
const LARGE = { cpu: 64, memory: 64 * 1024 ** 3 };

/** One absence of the control plane, longer than a lease, and what it finds when it is back. */
describe('a control plane that was away', () => {
  let system: TestSystem;
  let store: ConnectedEventStore;
  let commands: CommandHandler<JobCommand, JobEvent, JobState>;
  let orchestrator: ManagedProcess;
  let over = false;
  const working: Promise<unknown>[] = [];
  const jobs: { finishing: string; queued: string[]; delayed: string[] } = { finishing: '', queued: [], delayed: [] };

  beforeAll(async () => {
    const env = {
      ESCALON_OFFLINE_AFTER: String(OFFLINE),
      ESCALON_LOST_AFTER: String(LOST),
      ESCALON_SWEEP_INTERVAL: String(SWEEP),
    };
    system = await TestSystem.start({ env });
    orchestrator = system.orchestrators[0]!;
    const ports = { clock: systemClock, timers: systemTimers, random: systemRandom };
    store = connectEventStore({ connectionString: system.eventStoreUrl, ...ports });
    commands = new CommandHandler(jobDecider, store, systemIds);
    await system.addAgent('lab-a', { config: { labels: { test: 'lab' }, probes: { python: false } } });
    const [go, done] = [join(system.folder, 'go'), join(system.folder, 'done')];
    jobs.queued = await Promise.all(Array.from({ length: 50 }, () => submit('queued')));
    jobs.finishing = await submit('lab', { task: untilGo(go, done), outputs: ['r'] });
    await reaches(jobs.finishing, 'ExecutionStarted');
    jobs.delayed = await delayed(5);
    await orchestrator.kill('SIGKILL');
    const since = Date.now();
    await writeFile(go, '');
    await eventually(
      () => Promise.resolve(existsSync(done)),
      (is) => is,
    );
    await eventually(
      () => Promise.resolve(Date.now() - since),
      (away) => away > (OFFLINE + LOST + 1) * 1000,
    );
    await orchestrator.start();
  });

  afterAll(async () => {
    over = true;
    await Promise.all(working);
    await store.close();
    await system.stop();
  });

  const submit = (label: string, change: object = {}): Promise<string> => submitLabelled(system, label, change);
  const untilGo = (go: string, done: string): object => ({
    command: ['sh', '-c', `until [ -e '${go}' ]; do sleep 0.1; done; echo 1 > r; touch '${done}'`],
  });
  /** Resolves when the first event of this type is seen, after `then` was called at that very moment. */
  const seen = (wanted: string, after: bigint, then: () => void): Promise<void> =>
    new Promise((resolve) => {
      const event = ({ type }: { type: string }): void => {
        if (type !== wanted) return;
        then();
        resolve();
        void subscription.stop();
      };
      const subscription = store.subscribe({ after, filter: { streamPrefixes: ['node-'] } }, { event });
    });
  const executionOf = ({ executionId }: RawEvent['data']): string => String(executionId);
  const events = (jobId: string): Promise<RawEvent[]> => eventsOf(system.researcher(), jobId);
  const reaches = (jobId: string, type: string): Promise<RawEvent[]> =>
    eventually(
      () => events(jobId),
      (all) => count(all, type) > 0,
    );
  const works = async (name: string, label: string): Promise<ProtocolNode> => {
    const node = await enrolLabelled(system, name, label, LARGE);
    working.push(node.work(() => over).catch((error: unknown) => error));
    return node;
  };

  /** Jobs that failed once and wait for their second try. */
  const delayed = async (many: number): Promise<string[]> => {
    const node = await enrolLabelled(system, 'fails-1', 'delayed', LARGE);
    const retry = { attempts: 2, interval: '30s', backoff: 'constant' };
    const ids = await Promise.all(Array.from({ length: many }, () => submit('delayed', { retry })));
    for (const id of ids) {
      const execution = await node.assigned(id);
      await node.report('start', execution);
      await node.report('fail', execution, { class: 'infrastructure', code: 'sandbox', message: 'no CUDA driver' });
    }
    return ids;
  };

  it('A-46 A-86 a job finishes while it is away for longer than a lease: its result is recorded once, and no lease of a living node has expired', async () => {
    const all = await reaches(jobs.finishing, 'JobCompleted');
    expect(count(all, 'JobCompleted', 'ExecutionSucceeded')).toBe(2);
    expect(count(all, 'ExecutionReserved')).toBe(1);
    const { items } = await system.researcher().get(`/jobs/${jobs.finishing}/results`);
    expect(items).toMatchObject([{ state: 'succeeded', artifacts: [{ path: 'r', size: 2 }] }]);
    const log = await wholeLog(system.operator());
    expect(count(log, 'ExecutionLost', 'ReservationExpired', 'LateResultRejected')).toBe(0);
  });

  it('B-63 50 queued and 5 delayed jobs: all 55 are handled, delays honoured, none twice', async () => {
    await works('takes-1', 'queued');
    await works('takes-2', 'delayed');
    for (const id of jobs.queued) expect(count(await reaches(id, 'JobCompleted'), 'ExecutionReserved')).toBe(1);
    for (const id of jobs.delayed) {
      const all = await reaches(id, 'JobCompleted');
      const requeued = all.find(({ type }) => type === 'JobRequeued');
      const [, second, ...more] = all.filter(({ type }) => type === 'ExecutionReserved');
      expect([second?.data.attempt, more]).toEqual([2, []]);
      expect(String(second?.data.at) >= String(requeued?.data.notBefore)).toBe(true);
    }
  });

  /**
   * Stops the control plane at the first claim that it makes for one of many new jobs, and raises the priority of those that
   * have no execution yet, as another control plane would. Some of them may have been claimed for.
   */
  const raisedDuringPasses = async (): Promise<string[]> => {
    const before = await store.head();
    const claimed = seen('CapacityReserved', before, () => orchestrator.signal('SIGSTOP'));
    const spec = { priority: 10, resources: { cpu: 0.1, memory: '16MiB' } };
    const submitted = Promise.all(Array.from({ length: 20 }, () => submit('passes', spec)));
    await claimed;
    const raised: string[] = [];
    for await (const { type, stream } of store.readAll({ after: before, filter: { streamPrefixes: ['job-'] } })) {
      if (type !== 'JobSubmitted') continue;
      const { state } = await commands.load(stream);
      if (state.reservations > 0) continue;
      await commands.handle(
        stream,
        { type: 'ChangePriority', priority: 90, at: toInstant(Date.now()) },
        { actor: 'ada' },
      );
      raised.push(state.jobId);
    }
    orchestrator.signal('SIGCONT');
    await submitted;
    return raised;
  };

  /** Whether a claim was made for the job before its priority was raised, and an execution only afterwards. */
  const isOvertaken = (log: readonly RawEvent[], jobId: string): boolean => {
    const of = (wanted: string) =>
      log.find(({ type, data, stream }) => type === wanted && (stream + String(data.executionId)).includes(jobId));
    const [claim, raised, reserved] = ['CapacityReserved', 'JobPriorityChanged', 'ExecutionReserved'].map(of);
    if (!claim || !raised || !reserved) return false;
    return BigInt(claim.position) < BigInt(raised.position) && BigInt(raised.position) < BigInt(reserved.position);
  };

  it('P-03 priority 10 is changed to 90 while a pass runs on the old revision: the pass is refused and made again, and 90 stays', async () => {
    await works('passes-1', 'passes');
    let overtaken: string[] = [];
    const all: string[] = [];
    for (let round = 0; round < 20 && overtaken.length === 0; round += 1) {
      const raised = await raisedDuringPasses();
      for (const id of raised) await reaches(id, 'JobCompleted');
      all.push(...raised);
      const log = await wholeLog(system.operator());
      overtaken = raised.filter((id) => isOvertaken(log, id));
      for (const id of overtaken) {
        const released = log.find(({ type, data }) => type === 'CapacityReleased' && executionOf(data).startsWith(id));
        expect(released?.data.cause).toBe('superseded');
        const [reserved, ...more] = (await events(id)).filter(({ type }) => type === 'ExecutionReserved');
        expect(more).toEqual([]);
        expect(executionOf(reserved!.data)).not.toBe(executionOf(released!.data));
      }
    }
    expect(overtaken).not.toEqual([]);
    for (const id of all) expect(await system.researcher().get(`/jobs/${id}`)).toMatchObject({ priority: 90 });
  });

  it('P-02 a job stays running although its only execution is done, because the follow-up was lost once: it is completed within one sweep, untouched by a user', async () => {
    const node = await enrolLabelled(system, 'half-1', 'half');
    const jobId = await submit('half');
    const execution = await node.assigned(jobId);
    await node.report('start', execution);
    const at = toInstant(Date.now());
    const data = { executionId: execution.executionId, exitCode: 0, artifacts: [], consumption, at };
    const metadata = { schemaVersion: 1, actor: 'node:half-1' };
    await store.append(`job-${jobId}`, [{ id: systemIds.next(), type: 'ExecutionSucceeded', data, metadata }], 'any');
    const all = await reaches(jobId, 'JobCompleted');
    expect(all.slice(-2).map(({ type, metadata: { actor } }) => [type, actor])).toEqual([
      ['ExecutionSucceeded', 'node:half-1'],
      ['JobCompleted', 'system:sweep'],
    ]);
    await eventually(
      () => system.researcher().get(`/jobs/${jobId}`),
      ({ state }) => state === 'completed',
    );
  });

  it('leaves a log in which everything ended once and was given back', async () => {
    const names = ['lab-a', 'fails-1', 'takes-1', 'takes-2', 'passes-1', 'half-1'];
    const log = await eventually(
      () => wholeLog(system.operator()),
      (all) => names.every((name) => heldOn(all, name).length === 0),
    );
    expect(violations(log)).toEqual([]);
  });
});
