import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
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
const LARGE = { cpu: 64, memory: 64 * 1024 ** 3 };

/** One absence of the control plane, longer than a lease, and what it finds when it is back. */
describe('a control plane that was away', () => {
  let system: TestSystem;
  let orchestrator: ManagedProcess;
  let over = false;
  const working: Promise<unknown>[] = [];
  const jobs: { finishing: string; queued: string[]; delayed: string[] } = { finishing: '', queued: [], delayed: [] };

  beforeAll(async () => {
    const env = {
      ESCALON_OFFLINE_AFTER: String(OFFLINE),
      ESCALON_LOST_AFTER: String(LOST),
    };
    system = await TestSystem.start({ env });
    orchestrator = system.orchestrators[0]!;
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
    await system.stop();
  });

  const submit = (label: string, change: object = {}): Promise<string> => submitLabelled(system, label, change);
  const untilGo = (go: string, done: string): object => ({
    command: ['sh', '-c', `until [ -e '${go}' ]; do sleep 0.1; done; echo 1 > r; touch '${done}'`],
  });
  const events = (jobId: string): Promise<RawEvent[]> => eventsOf(system.researcher(), jobId);
  const reaches = (jobId: string, type: string): Promise<RawEvent[]> =>
    eventually(
      () => events(jobId),
      (all) => count(all, type) > 0,
      90_000,
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

  it('leaves a log in which everything ended once and was given back', async () => {
    const names = ['lab-a', 'fails-1', 'takes-1', 'takes-2'];
    const log = await eventually(
      () => wholeLog(system.operator()),
      (all) => names.every((name) => heldOn(all, name).length === 0),
      60_000,
    );
    expect(violations(log)).toEqual([]);
  });
});
