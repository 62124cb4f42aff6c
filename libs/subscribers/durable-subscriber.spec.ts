import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryEventStore, MemoryLog, randomFaults } from '#event-store';
import type { MemoryFaults, Position, RecordedEvent } from '#event-store';
import { FakeTime, seededRandom, systemIds } from '#kernel';
import type { Millis } from '#kernel';
import { DurableSubscriber } from './durable-subscriber.js';
import type { SubscriberPositions } from './ports.js';

class MemoryPositions implements SubscriberPositions {
  readonly stored = new Map<string, Position>();
  away = false;

  async load(name: string): Promise<Position | undefined> {
    await Promise.resolve();
    if (this.away) throw new Error('the database is away');
    return this.stored.get(name);
  }

  async save(name: string, position: Position): Promise<void> {
    await Promise.resolve();
    if (this.away) throw new Error('the database is away');
    const before = this.stored.get(name);
    if (before === undefined || position > before) this.stored.set(name, position);
  }
}

/** One log, one store of positions, and as many lives of a subscriber as a test wants. */
class World {
  readonly time = new FakeTime(1_764_000_000_000);
  readonly log = new MemoryLog();
  readonly positions = new MemoryPositions();
  readonly delivered: string[] = [];
  readonly told: string[] = [];
  /** Answers a delivery: throws to fail it. */
  deliver: (event: RecordedEvent) => Promise<void> = () => Promise.resolve();
  private readonly writer = new MemoryEventStore({ log: this.log, clock: this.time, timers: this.time });
  private readonly revisions = new Map<string, bigint>();

  async write(stream: string, type: string): Promise<void> {
    const revision = this.revisions.get(stream);
    const event = { id: systemIds.next(), type, data: {}, metadata: { schemaVersion: 1, actor: 'ada' } };
    await this.writer.append(stream, [event], revision ?? 'none');
    this.revisions.set(stream, (revision ?? -1n) + 1n);
  }

  subscriber(change: { giveUpAfter?: number; from?: 'start' | 'now'; faults?: MemoryFaults } = {}): DurableSubscriber {
    const { from = 'start', giveUpAfter, faults } = change;
    const { log, time, positions, told } = this;
    const store = new MemoryEventStore({ log, clock: time, timers: time, ...(faults && { faults }) });
    const deliver = async (event: RecordedEvent): Promise<void> => {
      await this.deliver(event);
      this.delivered.push(`${event.stream} ${String(event.revision)} ${event.type}`);
    };
    return new DurableSubscriber({
      ...{ name: 'chat', store, positions, deliver, from, giveUpAfter, concurrency: 4 },
      ...{ clock: time, timers: time, random: seededRandom(1) },
      filter: { streamPrefixes: ['job-'] },
      wants: ({ type }) => type !== 'Ignored',
      observer: {
        failed: (_name, { stream }, error, failures) => told.push(`${stream} failed ${failures}: ${String(error)}`),
        gaveUp: (_name, { stream }, _error, failures) => told.push(`${stream} gave up after ${failures}`),
        trouble: (_name, error) => told.push(`trouble: ${String(error)}`),
      },
    });
  }

  pass(span: Millis): Promise<void> {
    return this.time.advanceAsync(span);
  }

  /** Stops while time goes on. */
  async stop(subscriber: DurableSubscriber): Promise<void> {
    const stopped = subscriber.stop().then(() => true);
    while (!(await Promise.race([stopped, this.pass(1_000).then(() => false)])));
  }
}

describe('a durable subscriber', () => {
  it('E-08 is told of what it wants, in order, as it happens', async () => {
    const world = new World();
    await world.write('job-1', 'JobSubmitted');
    await world.write('job-1', 'Ignored');
    await world.write('node-1', 'NodeEnrolled');
    const subscriber = world.subscriber();
    subscriber.start();
    await world.pass(10);
    expect(world.delivered).toEqual(['job-1 0 JobSubmitted']);
    await world.write('job-1', 'ExecutionReserved');
    await world.pass(10);
    expect(world.delivered.at(-1)).toBe('job-1 2 ExecutionReserved');
    expect(subscriber.status).toMatchObject({ waiting: 0, behind: 0, failing: 0 });
    await world.stop(subscriber);
    expect(world.positions.stored.get('chat')).toBe(subscriber.status.position);
  });

  it('E-08 a failing delivery is tried again, holds back its own stream only, and is reported', async () => {
    const world = new World();
    let down = true;
    world.deliver = ({ stream }) => (down && stream === 'job-1' ? Promise.reject(new Error('503')) : Promise.resolve());
    const subscriber = world.subscriber();
    subscriber.start();
    await world.write('job-1', 'JobSubmitted');
    await world.write('job-1', 'JobFailed');
    await world.write('job-2', 'JobSubmitted');
    await world.pass(10);
    expect(world.delivered).toEqual(['job-2 0 JobSubmitted']);
    expect(world.told).toEqual(['job-1 failed 1: Error: 503']);
    await world.pass(30_000);
    expect(world.told.at(-1)).toMatch(/^job-1 failed [56]:/);
    expect(subscriber.status).toMatchObject({ waiting: 2, failing: 1, behind: 30_010 });
    // What a restart would go on from lies before the one that failed.
    expect(world.positions.stored.get('chat')).toBeLessThan(world.log.events[0]!.position);
    down = false;
    await world.pass(60_000);
    expect(world.delivered.slice(1)).toEqual(['job-1 0 JobSubmitted', 'job-1 1 JobFailed']);
    await world.stop(subscriber);
  });

  it('E-08 one that may give up does so loudly, and goes on', async () => {
    const world = new World();
    world.deliver = ({ type }) => (type === 'Poison' ? Promise.reject(new Error('400')) : Promise.resolve());
    const subscriber = world.subscriber({ giveUpAfter: 3 });
    subscriber.start();
    await world.write('job-1', 'Poison');
    await world.write('job-1', 'JobFailed');
    await world.pass(10_000);
    expect(world.told.at(-1)).toBe('job-1 gave up after 3');
    expect(world.delivered).toEqual(['job-1 1 JobFailed']);
    await world.stop(subscriber);
  });

  it('E-08 begins now where nothing else was asked for, and goes on there however often it is restarted', async () => {
    const world = new World();
    await world.write('job-1', 'JobSubmitted');
    const first = world.subscriber({ from: 'now' });
    first.start();
    await world.pass(10);
    await world.stop(first);
    await world.write('job-1', 'JobFailed');
    const second = world.subscriber({ from: 'now' });
    second.start();
    await world.pass(10);
    expect(world.delivered).toEqual(['job-1 1 JobFailed']);
    await world.stop(second);
  });

  it('E-08 waits for the store of its positions, and writes them when it is back', async () => {
    const world = new World();
    world.positions.away = true;
    const subscriber = world.subscriber();
    subscriber.start();
    await world.write('job-1', 'JobSubmitted');
    await world.pass(5_000);
    expect(world.delivered).toEqual([]);
    expect(world.told.length).toBeGreaterThan(3);
    world.positions.away = false;
    await world.pass(2_000);
    expect(world.delivered).toEqual(['job-1 0 JobSubmitted']);
    world.positions.away = true;
    await world.write('job-1', 'JobFailed');
    await world.pass(2_000);
    world.positions.away = false;
    await world.pass(1_000);
    expect(world.positions.stored.get('chat')).toBe(subscriber.status.position);
    await world.stop(subscriber);
  });

  it('reads no further than it has room for while nothing is taken', async () => {
    const world = new World();
    world.deliver = () => Promise.reject(new Error('down'));
    const subscriber = world.subscriber();
    for (let count = 0; count < 1_200; count += 1) await world.write(`job-${String(count)}`, 'JobSubmitted');
    subscriber.start();
    await world.pass(100);
    expect(subscriber.status.waiting).toBe(1_000);
    world.deliver = () => Promise.resolve();
    await world.pass(200_000);
    expect(world.delivered).toHaveLength(1_200);
    await world.stop(subscriber);
  });

  it('E-08 misses nothing and keeps the order of each stream, whatever fails, breaks and restarts', async () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ kind: fc.constant('write' as const), stream: fc.nat(3) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), span: fc.nat(5_000) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), clean: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('away' as const), away: fc.boolean() }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.array(step, { minLength: 5, maxLength: 60 }), async (seed, steps) => {
        const world = new World();
        const random = seededRandom(seed);
        const faults = randomFaults(random, { delayDelivery: 0.1, interrupt: 0.05, longest: 500 });
        world.deliver = () => (random.next() < 0.3 ? Promise.reject(new Error('no')) : Promise.resolve());
        let subscriber = world.subscriber({ faults });
        subscriber.start();
        const written: string[] = [];
        const next = [0, 0, 0, 0];
        for (const one of steps) {
          if (one.kind === 'write') {
            await world.write(`job-${String(one.stream)}`, 'JobSubmitted');
            written.push(`job-${String(one.stream)} ${String(next[one.stream]!)} JobSubmitted`);
            next[one.stream]! += 1;
          } else if (one.kind === 'pass') await world.pass(one.span);
          else if (one.kind === 'away') world.positions.away = one.away;
          else {
            // One that is not stopped is as good as dead: what it did not write down is delivered again.
            if (one.clean) await world.stop(subscriber);
            else void subscriber.stop();
            subscriber = world.subscriber({ faults });
            subscriber.start();
          }
        }
        world.positions.away = false;
        world.deliver = () => Promise.resolve();
        await world.pass(400_000);
        for (const stream of ['job-0', 'job-1', 'job-2', 'job-3']) {
          const own = (all: readonly string[]): string[] => all.filter((line) => line.startsWith(`${stream} `));
          const firsts = [...new Set(own(world.delivered))];
          expect(firsts).toEqual(own(written));
        }
        await world.stop(subscriber);
      }),
      { numRuns: 40 },
    );
  });
});
