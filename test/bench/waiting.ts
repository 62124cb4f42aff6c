import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { EventStore, RecordedEvent, Subscriber } from '#event-store';
import { FakeTime, countingIds, seededRandom, toMillis } from '#kernel';
import { ClusterView, ControlLoop } from '#scheduling';
import type { ControlLoopParts } from '#scheduling';
import { EPOCH, aContract, aDecision, aJobSpec, anInventory, second } from '#testing';
import type { BenchResult } from './bench-result.js';

/* What an event costs while many jobs wait: events go straight into the view, so that only the scheduler's work counts. */

const WAITING = [0, 1_000, 100_000];
const SHAPES = 10;
const RELEASES = 1_000;
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Takes about half a minute. */
export const benchWaiting = async (): Promise<BenchResult> => {
  const rows: BenchResult['rows'] = [];
  for (const waiting of WAITING) rows.push(await measure(waiting));
  return {
    name: 'waiting',
    rows,
    notes: [
      `a look is one decision; ${String(RELEASES)} times a claim is taken and given back that is too small for any of ${String(SHAPES)} shapes`,
      'bytes of heap in view and scheduler, without what is stored; all jobs are cancelled in the end',
    ],
  };
};

const measure = async (waiting: number): Promise<BenchResult['rows'][number]> => {
  const empty = heap();
  const log = new Feed();
  const filled = await timed(() => log.fill(waiting));
  const started = await timed(() => log.startScheduling());
  const looksAtStart = log.takeLooks();
  const held = heap() - empty;
  const released = await timed(() => log.claimAndRelease());
  const looks = log.takeLooks();
  await log.cancelAll(waiting);
  const each = (bytes: number): string => (waiting === 0 ? '' : String(Math.round(bytes / waiting)));
  return {
    waiting,
    'fold s': (filled / 1000).toFixed(2),
    'start ms': started.toFixed(0),
    'looks at start': looksAtStart,
    'looks per release': looks / RELEASES,
    'µs per release': ((released / RELEASES) * 1000).toFixed(0),
    'bytes per waiting job': each(held),
    'bytes per ended job': each(heap() - empty),
  };
};

const timed = async (run: () => Promise<void> | void): Promise<number> => {
  const begun = performance.now();
  await run();
  return performance.now() - begun;
};

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const heap = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

/** A view and its control loop on events made up as they are needed. */
class Feed {
  private readonly time = new FakeTime(toMillis(EPOCH));
  private readonly view: ClusterView;
  private readonly revisions = new Map<string, bigint>();
  private subscriber: Subscriber | undefined;
  private position = 0n;
  private looks = 0;

  constructor() {
    const subscribe: EventStore['subscribe'] = (_from, subscriber) => {
      this.subscriber = subscriber;
      return { stop: () => Promise.resolve() };
    };
    this.view = new ClusterView({ subscribe } as unknown as EventStore, (error) => {
      throw error;
    });
  }

  fill(waiting: number): void {
    this.view.start();
    const project = { projectId: 'demo', institution: 'usp', members: ['*'], quota: {}, weight: 1, at: second(0) };
    this.tell('project-demo', 'ProjectConfigured', project);
    const inventory = anInventory({ cpu: 64 });
    const node = { nodeId: 'n', name: 'n', owner: 'olga', institution: 'usp', inventory, policy: {}, at: second(0) };
    this.tell('node-n', 'NodeEnrolled', node);
    this.tell('node-n', 'NodeWentOnline', { at: second(0) });
    this.reserve('busy', 60);
    for (let number = 0; number < waiting; number += 1) this.submit(number);
  }

  async startScheduling(): Promise<void> {
    const { view, time } = this;
    const done = { kind: 'done', state: {}, revision: -1n, position: 0n, events: 0 };
    const commands = {
      handle: () => Promise.resolve(done),
      load: () => Promise.resolve({ state: { executions: {} } }),
    };
    const parts = {
      view,
      jobs: commands,
      nodes: commands,
      presence: { lastSeen: () => Promise.resolve(new Map([['n', Number.MAX_SAFE_INTEGER]])) },
      clock: time,
      timers: time,
      random: seededRandom(1),
      ids: countingIds(),
      log: QUIET,
      observer: { decided: () => void (this.looks += 1) },
    };
    const loop = new ControlLoop(parts as unknown as ControlLoopParts);
    void this.subscriber?.caughtUp?.();
    await loop.start();
    await loop.scheduler.whenIdle();
  }

  claimAndRelease(): void {
    for (let count = 0; count < RELEASES; count += 1) {
      this.reserve(`small.${String(count)}`, 1);
      this.tell('node-n', 'CapacityReleased', {
        executionId: `small.${String(count)}`,
        cause: 'failed',
        at: second(1),
      });
    }
  }

  async cancelAll(waiting: number): Promise<void> {
    for (let number = 0; number < waiting; number += 1) {
      this.tell(`job-${String(number)}`, 'JobCancelled', { reason: 'over', at: second(2) });
    }
    await Promise.resolve();
  }

  takeLooks(): number {
    const { looks } = this;
    this.looks = 0;
    return looks;
  }

  private submit(number: number): void {
    const jobId = String(number);
    const resources = { cpu: 10 + (number % SHAPES), memory: 1, disk: 0, ioSlots: 0 };
    const spec = JSON.parse(JSON.stringify(aJobSpec({ name: jobId, resources }))) as object;
    const job = { jobId, spec, account: 'ada', institution: 'usp', evaluationId: jobId, fingerprint: jobId };
    this.tell(`job-${jobId}`, 'JobSubmitted', { ...job, at: second(number / 1000) });
    const filtered = [{ reason: 'capacity.cpu', side: 'job', never: false, nodes: 1, also: 0 }] as const;
    const wakesOn = ['CapacityReleased', 'NodeEnrolled', 'NodeInventoryChanged'];
    const decision = aDecision({ number: 1, outcome: 'deferred', eligible: 0, filtered, wakesOn });
    this.tell(`job-${jobId}`, 'PlacementDecided', decision);
  }

  private reserve(executionId: string, cpu: number): void {
    const contract = aContract({ cpu, memory: 1 });
    const claim = { executionId, jobId: 'x', project: 'demo', contract, expiresAt: second(900), at: second(1) };
    this.tell('node-n', 'CapacityReserved', claim);
  }

  private tell(stream: string, type: string, data: object): void {
    const revision = (this.revisions.get(stream) ?? -1n) + 1n;
    this.revisions.set(stream, revision);
    this.position += 7n;
    const recorded = { id: '', stream, type, data, revision, position: this.position, recordedAt: 0, metadata: {} };
    void this.subscriber?.event(recorded as unknown as RecordedEvent);
  }
}
