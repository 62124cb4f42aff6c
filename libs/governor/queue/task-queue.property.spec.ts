import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Contract } from '#nodes';
import { demandOf, forecast, holding, machineOf, verdict } from '../budget/index.js';
import { laneByNeed } from '../index.js';
import type { Discipline, LaneOptions, Reservation, TaskDependency, TaskView } from '../index.js';
import { Bench, capacity, estimate, settle } from '../testing/bench.js';

/*
 * Random histories against a model that is as simple as can be: a line, a set of what runs, and subtraction. After each step
 * the queue, the governor and the callbacks must be where the model is.
 */

interface Need {
  readonly cpu: number;
  readonly ioSlots: number;
  readonly memory: number;
  readonly batch: { readonly size: number; readonly min: number } | undefined;
  /** The callback ends when it likes, whoever asks it to. */
  readonly stubborn: boolean;
}

type Operation =
  | { readonly do: 'submit'; readonly need: Need }
  | { readonly do: 'finish' | 'fail' | 'cancel' | 'pause' | 'resume'; readonly at: number }
  | { readonly do: 'take'; readonly cpu: number }
  | { readonly do: 'give' }
  | { readonly do: 'resize'; readonly cpu: number };

const PER_ITEM = 100;

const need: fc.Arbitrary<Need> = fc.record({
  cpu: fc.integer({ min: 0, max: 5 }),
  ioSlots: fc.constantFrom(0, 0, 1, 2),
  memory: fc.constantFrom(0, 100, 400, 1001),
  batch: fc.option(fc.constantFrom({ size: 8, min: 2 }, { size: 4, min: 4 }, { size: 20, min: 11 }), {
    nil: undefined,
  }),
  stubborn: fc.boolean(),
});

const at = fc.nat({ max: 5 });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('submit' as const), need }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('finish' as const, 'fail' as const), at }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'pause' as const, 'resume' as const), at }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('take' as const), cpu: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('give' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resize' as const), cpu: fc.integer({ min: 2, max: 5 }) }) },
);

interface Modelled {
  readonly id: string;
  readonly need: Need;
  state: string;
  cancelling: boolean;
  memory: number;
  items: number | undefined;
}

class Model {
  readonly tasks: Modelled[] = [];
  readonly started: string[] = [];
  readonly outside: number[] = [];
  cpu = 4;

  constructor(private readonly workers: number) {}

  submit(id: string, its: Need): void {
    this.tasks.push({ id, need: its, state: 'pending', cancelling: false, memory: 0, items: undefined });
    this.pump();
  }

  /** The callback ends. */
  settle(task: Modelled, state: 'completed' | 'failed'): void {
    if (!this.holds(task)) return;
    task.state = task.cancelling ? 'cancelled' : state;
    this.pump();
  }

  cancel(task: Modelled): void {
    if (task.state === 'pending' || (this.holds(task) && !task.need.stubborn)) task.state = 'cancelled';
    else if (this.holds(task)) task.cancelling = true;
    this.pump();
  }

  pause(task: Modelled, from: string, to: string): void {
    if (task.state === from && !task.cancelling) task.state = to;
  }

  pump(): void {
    while (this.running().length < this.workers) {
      const head = this.tasks.find(({ state }) => state === 'pending');
      if (!head) return;
      const answer = this.judge(head.need);
      if (answer === 'WAIT') return;
      if (answer === 'REJECT') head.state = 'failed';
      else {
        head.state = 'running';
        head.items = answer.items;
        head.memory = answer.memory;
        this.started.push(head.id);
      }
    }
  }

  holds({ state }: Modelled): boolean {
    return state === 'running' || state === 'paused';
  }

  private running(): Modelled[] {
    return this.tasks.filter((task) => this.holds(task));
  }

  private judge(its: Need): 'WAIT' | 'REJECT' | { items: number | undefined; memory: number } {
    const sum = (part: (task: Modelled) => number): number =>
      this.running().reduce((total, task) => total + part(task), 0);
    const taken = this.outside.reduce((total, cpu) => total + cpu, 0);
    const now = this.fit(
      its,
      this.cpu - taken - sum((task) => task.need.cpu),
      1000 - sum(({ memory }) => memory),
      2 - sum((task) => task.need.ioSlots),
    );
    if (now) return now;
    return this.fit(its, this.cpu, 1000, 2) ? 'WAIT' : 'REJECT';
  }

  private fit(its: Need, cpu: number, memory: number, slots: number) {
    if ((its.cpu > 0 && its.cpu > cpu) || (its.ioSlots > 0 && its.ioSlots > slots)) return undefined;
    if (!its.batch) return its.memory > memory ? undefined : { items: undefined, memory: its.memory };
    const items = Math.min(its.batch.size, Math.floor((memory - its.memory) / PER_ITEM));
    return items < its.batch.min ? undefined : { items, memory: its.memory + items * PER_ITEM };
  }
}

/** The queue under test, driven as the model is. */
class Driven extends Bench {
  private readonly taken: Reservation[] = [];

  submitNeed(id: string, { cpu, ioSlots, memory, batch, stubborn }: Need): void {
    const needs = estimate(
      { cpu, ioSlots, memory },
      batch ? { batch: { ...batch, memoryPerItem: PER_ITEM, gpuMemoryPerItem: 0 } } : {},
    );
    if (!stubborn) return this.submit(id, needs);
    this.submit(id, needs, {
      work: (contract, control) =>
        new Promise((resolve, reject) => this.calls.set(id, { contract, control, finish: resolve, fail: reject })),
    });
  }

  take(cpu: number): void {
    this.taken.push(this.governor.adopt({ cpu, memory: 0, disk: 0, ioSlots: 0, gpus: [] }));
  }

  give(): void {
    const oldest = this.taken.shift();
    if (oldest) this.governor.release(oldest);
    this.queue.resourcesChanged();
  }

  resize(cpu: number): void {
    this.governor.setCapacity(capacity({ cpu }));
    this.queue.resourcesChanged();
  }
}

const apply = (step: Operation, bench: Driven, model: Model): void => {
  if (step.do === 'submit') {
    const id = `t${model.tasks.length}`;
    bench.submitNeed(id, step.need);
    return model.submit(id, step.need);
  }
  if (step.do === 'take') {
    bench.take(step.cpu);
    return void model.outside.push(step.cpu);
  }
  if (step.do === 'give') {
    bench.give();
    model.outside.shift();
    return model.pump();
  }
  if (step.do === 'resize') {
    bench.resize(step.cpu);
    model.cpu = step.cpu;
    return model.pump();
  }
  const task = model.tasks[step.at % Math.max(1, model.tasks.length)];
  if (!task) return;
  switch (step.do) {
    case 'finish':
      bench.calls.get(task.id)?.finish();
      return model.settle(task, 'completed');
    case 'fail':
      bench.calls.get(task.id)?.fail(new Error('no'));
      return model.settle(task, 'failed');
    case 'cancel':
      bench.queue.cancel(task.id, 'so');
      return model.cancel(task);
    case 'pause':
      bench.queue.pause(task.id);
      return model.pause(task, 'running', 'paused');
    case 'resume':
      bench.queue.resume(task.id);
      return model.pause(task, 'paused', 'running');
  }
};

/** A hundred thousand times as equal as `toEqual` would say, and as telling when not. */
const expectSame = (found: unknown, expected: unknown): void => {
  if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected);
};

const compare = (bench: Driven, model: Model): void => {
  const held = model.tasks.filter((task) => model.holds(task));
  const expected = {
    states: model.tasks.map(({ state }) => state),
    started: model.started,
    held: [
      ...held.map(({ need: { cpu, ioSlots }, memory, items }) => [cpu, memory, ioSlots, items]),
      ...model.outside.map((cpu) => [cpu, 0, 0, undefined]),
    ].sort(),
    granted: held.map(({ id, items }) => [id, items]),
  };
  const found = {
    states: model.tasks.map(({ id }) => bench.state(id)),
    started: bench.started(),
    held: bench.governor
      .contracts()
      .map(({ cpu, memory, ioSlots, batchSize }) => [cpu, memory, ioSlots, batchSize])
      .sort(),
    granted: held.map(({ id }) => [id, bench.calls.get(id)?.contract.batchSize]),
  };
  expectSame(found, expected);
};

/** What must hold of every history as a whole, told from the steps alone. */
const checkSteps = (bench: Driven): void => {
  for (const id of new Set(bench.steps.flatMap((step) => ('task' in step ? [step.task] : [])))) {
    const path = bench.path(id).filter((step) => step !== 'examined');
    const ran = path.includes('started');
    expectSame(path, ['created', 'estimated', ...(ran ? ['reserved', 'taken', 'started', 'released'] : []), 'ended']);
  }
  for (const step of bench.steps) if (step.step === 'released') expectSame(step.answer, 'released');
};

describe('a queue under any history', () => {
  it('G-01 G-12 G-21 G-25 G-27 G-30 G-31 G-32 G-36 G-40 is where a plain model of it is, 10 000 times', async () => {
    const histories = fc.array(operation, { minLength: 1, maxLength: 14, size: 'max' });
    await fc.assert(
      fc.asyncProperty(histories, fc.integer({ min: 1, max: 3 }), async (steps, workers) => {
        const bench = new Driven({}, [{ name: 'tasks', workers }]);
        const model = new Model(workers);
        for (const step of steps) {
          apply(step, bench, model);
          await settle();
          compare(bench, model);
        }
        const destroyed = bench.queue.destroy();
        for (const { finish } of bench.calls.values()) finish();
        await destroyed;
        checkSteps(bench);
        expect(bench.governor.contracts()).toHaveLength(model.outside.length);
        expect(bench.ends.size).toBe(model.tasks.length);
      }),
      { numRuns: 10_000 },
    );
  });

  it('G-24 G-55 G-56 G-58 G-59 lets nothing wait that could start, nor more run than there is, whatever the lanes', async () => {
    const lanes = fc.tuple(aLane('cpu'), aLane('io'), aLane('gpu'));
    await fc.assert(
      fc.asyncProperty(lanes, fc.array(move, { minLength: 1, maxLength: 20, size: 'max' }), async (options, moves) => {
        const bench = new Driven({ gpus: GPUS }, options, laneByNeed);
        const ends = new Ends();
        const ids: string[] = [];
        for (const one of moves) {
          const id = `${ids.length}`;
          const inState = ids.filter((each) => bench.state(each) === MEANT[one.do]);
          const among = inState.length > 0 ? inState : ids;
          const known = among[one.at % Math.max(1, among.length)];
          if (one.do === 'submit') {
            const dependsOn = one.follows && known !== undefined ? [{ task: known, when: one.when }] : [];
            bench.submit(id, one.needs, { priority: one.priority, dependsOn });
            ids.push(id);
          } else if (known !== undefined) {
            if (one.do === 'cancel') bench.queue.cancel(known, 'so');
            else if (one.do === 'pause') bench.queue.pause(known);
            else if (one.do === 'resume') bench.queue.resume(known);
            else if (one.do === 'fail') bench.calls.get(known)?.fail(new Error('no'));
            else bench.calls.get(known)?.finish();
          }
          bench.time.advance(1000);
          await settle();
          const tasks = ids.flatMap((each) => bench.queue.task(each) ?? []);
          ends.look(tasks, bench.time.now());
          checkNoneForgotten(bench, options, tasks, ends);
        }
        await bench.queue.destroy();
        checkSteps(bench);
        expectSame([bench.governor.contracts(), bench.ends.size], [[], ids.length]);
      }),
      { numRuns: 1500 },
    );
  });
});

const aLane = (name: string): fc.Arbitrary<LaneOptions> =>
  fc.record({
    name: fc.constant(name),
    workers: fc.integer({ min: 1, max: 3 }),
    discipline: fc.constantFrom<Discipline>('fifo', 'priority', 'backfill'),
  });

/** Of which state the task should be that a move is for, if there is any. */
const MEANT: Readonly<Record<string, string>> = {
  finish: 'running',
  fail: 'running',
  pause: 'running',
  resume: 'paused',
};

const move = fc.record({
  do: fc.constantFrom('submit', 'submit', 'submit', 'submit', 'finish', 'fail', 'cancel', 'pause', 'resume', 'resume'),
  at: fc.nat({ max: 9 }),
  priority: fc.nat({ max: 2 }),
  follows: fc.boolean(),
  when: fc.constantFrom<TaskDependency['when']>('completed', 'failed', 'terminal'),
  needs: fc
    .record({
      cpu: fc.integer({ min: 0, max: 4 }),
      ioSlots: fc.constantFrom(0, 1),
      gpu: fc.constantFrom(undefined, { count: 1, share: 0.6, models: [] }),
      duration: fc.constantFrom(undefined, 1, 5, 20),
    })
    .map(({ cpu, ioSlots, gpu, duration }) =>
      estimate({ cpu, ioSlots, ...(gpu && { gpu }) }, duration === undefined ? {} : { duration }),
    ),
});

const GPUS = [{ id: 'g', model: 'T4', memory: 10 }];

/** When what holds something is expected to end, told from looks a second apart: its duration after its start, pauses apart. */
class Ends {
  private readonly started = new Map<string, number>();

  look(tasks: readonly TaskView[], now: number): void {
    for (const { id, state } of tasks) {
      const start = this.started.get(id) ?? now;
      // Paused or resumed before the second that is over now.
      if (state === 'running' || state === 'paused') this.started.set(id, state === 'paused' ? start + 1000 : start);
    }
  }

  of({ id, state, estimate: { duration } }: TaskView, now: number): number {
    if (duration === undefined || state === 'paused') return Infinity;
    return Math.max(now, (this.started.get(id) ?? now) + duration * 1000);
  }
}

/**
 * The first of each lane that has a worker to spare really has to wait, and, where they may pass it, so do those behind it: each
 * would delay it. What is held fits the machine.
 */
const checkNoneForgotten = (
  bench: Bench,
  lanes: readonly LaneOptions[],
  tasks: readonly TaskView[],
  ends: Ends,
): void => {
  const holders = tasks.filter(({ state }) => state === 'running' || state === 'paused');
  for (const { name, workers = 1, discipline } of lanes) {
    const running = holders.filter(({ lane }) => lane === name);
    const [first, ...behind] = (bench.queue.lane(name)?.waiting ?? []).flatMap((id) => bench.queue.task(id) ?? []);
    if (!first || running.length === workers) continue;
    expectSame(bench.governor.examine(first.estimate).kind, 'WAIT');
    if (discipline !== 'backfill') continue;
    const passing = behind.filter((task) => mayPass(bench, task, first, { running, holders, workers, ends }));
    expectSame(
      passing.map(({ id }) => id),
      [],
    );
  }
  const held = bench.governor.contracts();
  const sum = (part: (contract: Contract) => number): number => held.reduce((total, one) => total + part(one), 0);
  const fits = sum(({ cpu }) => cpu) <= 4 && sum(({ ioSlots }) => ioSlots) <= 2 && sum(({ gpus }) => gpus.length) <= 1;
  expectSame(fits, true);
};

interface Others {
  readonly running: readonly TaskView[];
  readonly holders: readonly TaskView[];
  readonly workers: number;
  readonly ends: Ends;
}

/** Whether `task` would be granted now, and `head` have its resources and a worker as soon as without it. */
const mayPass = (
  bench: Bench,
  task: TaskView,
  head: TaskView,
  { running, holders, workers, ends }: Others,
): boolean => {
  const now = bench.time.now();
  const machine = machineOf(capacity({ gpus: GPUS }), bench.governor.contracts());
  const answer = verdict(demandOf(task.estimate), machine);
  if (answer.kind !== 'GRANT') return false;
  const known = (one: TaskView, contract = one.contract!) => {
    const at = ends.of(one, now);
    return at === Infinity ? [] : [{ at, contract }];
  };
  const releases = holders.flatMap((one) => known(one));
  const needs = demandOf(head.estimate);
  const before = forecast(needs, machine, releases, now);
  if (!before || [...running, task].filter((one) => ends.of(one, now) > before.at).length >= workers) return false;
  const released = [...releases, ...known(task, answer.contract)];
  const after = forecast(needs, holding(machine, answer.contract), released, now);
  return after !== undefined && after.at <= before.at;
};
