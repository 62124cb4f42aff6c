import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeTime } from '#kernel';
import { histories } from '#placement/testing';
import type { EventStore } from '#event-store';
import type { ClusterEvent } from '#placement';
import { MemorySnapshots } from '../testing/memory-snapshots.js';
import { RecordedStore } from '../testing/recorded-store.js';
import { AssignmentBoard } from '../view/assignment-board.js';
import { ClusterView } from '../view/cluster-view.js';
import { FOLD } from './format.js';
import { Snapshots } from './snapshots.js';

interface Process {
  readonly view: ClusterView;
  readonly board: AssignmentBoard;
  readonly time: FakeTime;
  readonly warnings: string[];
}

/** A process over a log, from its start until the view is live. */
const started = async (
  store: RecordedStore,
  snapshots: MemorySnapshots | undefined,
  every = 1_000_000,
): Promise<Process> => {
  const time = new FakeTime(0);
  const warnings: string[] = [];
  const warn = (details: object, message: string): void => {
    const { reason, err } = details as { reason?: string; err?: Error };
    warnings.push(`${message}: ${reason ?? String(err?.message)}`);
  };
  const log = { debug: () => undefined, info: () => undefined, warn, error: warn };
  const events = store as unknown as EventStore;
  const kept = snapshots && new Snapshots({ store: snapshots, events, timers: time, log, every, pieceSize: 500 });
  const view = new ClusterView(events, (error) => warnings.push(error.message), kept);
  const board = new AssignmentBoard(view, time);
  view.start();
  await time.advanceAsync(60_000);
  return { view, board, time, warnings };
};

/** The snapshot that a process leaves when it stops. */
const left = async (store: RecordedStore, snapshots = new MemorySnapshots()): Promise<MemorySnapshots> => {
  const { view, board } = await started(store, snapshots);
  board.stop();
  await view.stop();
  return snapshots;
};

const textOf = ({ texts }: MemorySnapshots): string => [...texts.values()].at(-1) ?? '';

const NODES = ['n0', 'n1', 'n2', 'elsewhere'];

/** A cluster with something in each of its tables. */
const SAMPLE: readonly ClusterEvent[] =
  fc
    .sample(histories, { seed: 7, numRuns: 300 })
    .find(({ cluster }) => cluster.live.size > 1 && cluster.ended.size > 0 && cluster.jobs.size > 1)?.events ?? [];

describe('a view that begins from a snapshot', () => {
  it('A-21 A-38 is as one that read all of the log, and tells the nodes the same with the same revisions', async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.nat(), async ({ events }, seed) => {
        const cut = 1 + (seed % events.length);
        const store = new RecordedStore(events);
        const snapshots = await left(new RecordedStore(events.slice(0, cut)));
        const restored = await started(store, snapshots);
        const whole = await started(new RecordedStore(events), undefined);
        expect(store.begun).toEqual([events[cut - 1]!.position]);
        expect(restored.view.cluster).toEqual(whole.view.cluster);
        for (const node of NODES) expect(restored.board.desired(node)).toEqual(whole.board.desired(node));
        await restored.view.stop();
        expect(textOf(snapshots)).toBe(textOf(await left(new RecordedStore(events))));
        expect(restored.warnings).toEqual([]);
      }),
    );
  });

  it('has a name for its fold that changes with it', async () => {
    // When this fails, snapshots of the fold as it was must not be read by the fold as it is: FOLD takes the name received.
    expect(await nameOfFold()).toBe(FOLD);
  });

  const cases: readonly (readonly [what: string, change: (text: string) => string, reason: string])[] = [
    ['has another format', (text) => text.replace('"format":1', '"format":2'), 'it has format 2, not 1'],
    ['is of another fold', (text) => text.replace(`"${FOLD}"`, '"abc"'), `it is of fold abc, not ${FOLD}`],
    ['was cut in a line', (text) => text.slice(0, -10), 'it ends in the middle of a line'],
    ['was cut between lines', (text) => text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1), 'it has no end'],
    ['is empty', () => '', 'it has no end'],
    ['has a line changed', (text) => text.replace('"usp"', '"ups"'), 'its lines are not those that were written'],
    ['lacks a line', (text) => text.replace(/\n\["projects".*/, ''), 'its lines are not those that were written'],
    ['goes on', (text) => `${text}{}\n`, 'it goes on after its end'],
    ['is not JSON', (text) => text.replace('["nodes",', '["nodes"'), 'JSON'],
  ];

  it.each(cases)('reads the log from its start when the snapshot %s', async (_what, change, reason) => {
    const store = new RecordedStore(SAMPLE);
    const snapshots = await left(store);
    const [[name, text]] = [...snapshots.texts] as [[string, string]];
    expect(change(text)).not.toBe(text);
    snapshots.texts.set(name, change(text));
    const { view, warnings } = await started(store, snapshots);
    expect(store.begun.at(-1)).toBe(-1n);
    expect(view.cluster).toEqual((await started(store, undefined)).view.cluster);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('a snapshot cannot be used and is dropped');
    expect(warnings[0]).toContain(reason);
    expect([...snapshots.texts]).toEqual([]);
  });

  it('takes the one before when only the newest is unusable', async () => {
    const snapshots = await left(new RecordedStore(SAMPLE.slice(0, 5)));
    await left(new RecordedStore(SAMPLE), snapshots);
    const [newest] = await snapshots.names();
    snapshots.texts.set(newest!, 'x');
    const store = new RecordedStore(SAMPLE);
    await started(store, snapshots);
    expect(store.begun).toEqual([SAMPLE[4]!.position]);
  });

  it.each([
    ['ends before it', (events: readonly ClusterEvent[]) => new RecordedStore(events.slice(0, 4))],
    ['went another way', (events: readonly ClusterEvent[]) => new RecordedStore(events, '-again')],
  ])('reads the log from its start when the store was replaced by one that %s', async (_what, older) => {
    const snapshots = await left(new RecordedStore(SAMPLE));
    const store = older(SAMPLE);
    const { warnings } = await started(store, snapshots);
    expect(store.begun).toEqual([-1n]);
    expect(warnings).toEqual([expect.stringContaining('which the event store does not have')]);
    expect([...snapshots.texts]).toEqual([]);
  });

  it('asks again while the store is away, and keeps the snapshot', async () => {
    const snapshots = await left(new RecordedStore(SAMPLE));
    const store = new RecordedStore(SAMPLE);
    store.away = 5;
    const { warnings } = await started(store, snapshots);
    expect(store.begun).toEqual([SAMPLE.at(-1)!.position]);
    expect(warnings).toEqual([]);
  });

  it('does nothing more when it is stopped while the store is away', async () => {
    const snapshots = await left(new RecordedStore(SAMPLE));
    const store = new RecordedStore(SAMPLE);
    store.away = Infinity;
    const { view, time } = await started(store, snapshots);
    const stopped = view.stop();
    await time.advanceAsync(1_000);
    await stopped;
    expect([store.begun, snapshots.texts.size]).toEqual([[], 1]);
  });

  it('leaves no snapshot of a state that an event broke', async () => {
    const bad = { stream: 'node-n9', revision: 0n, position: 9_999n, type: 'NodeEnrolled', data: {} };
    const snapshots = new MemorySnapshots();
    const { view, warnings } = await started(new RecordedStore([...SAMPLE, bad]), snapshots);
    await view.stop();
    expect(warnings).toHaveLength(1);
    expect(snapshots.texts.size).toBe(0);
  });
});

describe('snapshots while the log is followed', () => {
  it('are written after so many SAMPLE, and the two last are kept', async () => {
    const snapshots = new MemorySnapshots();
    const { view, warnings } = await started(new RecordedStore(SAMPLE), snapshots, 7);
    expect(view.ready).toBe(true);
    expect(warnings).toEqual([]);
    const positions = SAMPLE.filter((_, index) => (index + 1) % 7 === 0).map(({ position }) => Number(position));
    expect((await snapshots.names()).map(Number)).toEqual(positions.slice(-2).reverse());
  });

  it('are of one moment, however slowly they are taken in', async () => {
    const snapshots = new MemorySnapshots();
    const until = SAMPLE.length - (SAMPLE.length % 7);
    snapshots.beforePiece = async () => {
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    };
    await started(new RecordedStore(SAMPLE), snapshots, 7);
    expect(textOf(snapshots)).toBe(textOf(await left(new RecordedStore(SAMPLE.slice(0, until)))));
  });

  it('are given up when the disk hangs, and the log is followed on', async () => {
    const snapshots = new MemorySnapshots();
    let free = (): void => undefined;
    const hangs = new Promise<void>((resolve) => (free = resolve));
    snapshots.beforePiece = () => hangs;
    const { view, time, warnings } = await started(new RecordedStore(SAMPLE), snapshots, 7);
    expect([view.ready, view.position]).toEqual([true, SAMPLE.at(-1)!.position]);
    free();
    await time.advanceAsync(0);
    expect(snapshots.texts.size).toBe(0);
    expect(warnings).toEqual([expect.stringContaining('it took longer than 10000 ms')]);
  });

  it('that cannot be stored are a warning', async () => {
    const snapshots = new MemorySnapshots();
    snapshots.beforePiece = () => Promise.reject(new Error('no space left'));
    const { view, warnings } = await started(new RecordedStore(SAMPLE), snapshots);
    await view.stop();
    expect(warnings).toEqual(['a snapshot of the cluster was not stored: no space left']);
  });
});

const nameOfFold = async (): Promise<string> => {
  const hash = createHash('sha256');
  for (const { events } of fc.sample(histories, { seed: 1, numRuns: 300 })) {
    const lines = textOf(await left(new RecordedStore(events))).split('\n');
    hash.update(lines.slice(1, -2).join('\n'));
  }
  return hash.digest('hex').slice(0, 16);
};
