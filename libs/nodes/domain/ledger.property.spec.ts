import { equal, ok } from 'node:assert/strict';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fold } from '#kernel';
import { isLive, jobDecider, liveExecutions } from '#jobs';
import type { JobCommand, JobState } from '#jobs';
import {
  aConfirmation,
  aFailure,
  aGpu,
  aJobSpec,
  anEnrollment,
  anInventory,
  aPlacement,
  aReport,
  aSubmission,
  aSuccess,
  second,
} from '#testing';
import type { NodeCommand } from './commands.js';
import type { Contract } from './contract.js';
import { nodeDecider } from './decide.js';
import type { ReleaseCause } from './events.js';
import { freeCapacity, totalCapacity } from './ledger.js';
import type { NodeState } from './state.js';

/*
 * Two nodes and three jobs under schedulers that race, crash between two appends, and deliver releases late, twice or never
 * until the sweep. The model beside the ledger is a plain list of who holds what.
 */

const INVENTORY = anInventory({
  cpu: 3,
  memory: 100,
  disk: 10,
  ioSlots: 2,
  gpus: [aGpu({ id: 'a', memory: 50 }), aGpu({ id: 'b', memory: 50 })],
});
const TOTAL = totalCapacity(INVENTORY);
const NODES = ['node-1', 'node-2'];
const JOBS = ['job-1', 'job-2', 'job-3'];

const contracts: fc.Arbitrary<Contract> = fc.record({
  cpu: fc.constantFrom(0.1, 0.2, 0.3, 0.7, 1, 1.5),
  memory: fc.integer({ min: 0, max: 40 }),
  disk: fc.integer({ min: 0, max: 4 }),
  ioSlots: fc.integer({ min: 0, max: 1 }),
  gpus: fc.array(
    fc.record({ id: fc.constantFrom('a', 'b'), share: fc.constantFrom(0.1, 0.2, 0.333, 0.5), memory: fc.nat(20) }),
    { maxLength: 2 },
  ),
});

type Step =
  | {
      readonly kind: 'place';
      readonly job: number;
      readonly node: number;
      readonly contract: Contract;
      readonly crash: boolean;
    }
  | { readonly kind: 'tell'; readonly job: number; readonly pick: number; readonly what: (typeof TOLD)[number] }
  | { readonly kind: 'expire' | 'lose'; readonly job: number; readonly pick: number }
  | { readonly kind: 'cancel' | 'pause' | 'resume'; readonly job: number }
  | { readonly kind: 'deliver'; readonly twice: boolean }
  | { readonly kind: 'sweep' };

/** What a node's ledger has yet to hear of an execution. */
interface Due {
  readonly executionId: string;
  readonly nodeId: string;
  readonly what: ReleaseCause | Contract;
}

const TOLD = ['confirm', 'confirm-less', 'start', 'succeed', 'fail', 'stopped', 'decline'] as const;
const index = fc.nat(JOBS.length - 1);

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('place' as const),
      job: index,
      node: fc.nat(1),
      contract: contracts,
      crash: fc.nat(5).map((odd) => odd === 0),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('tell' as const),
      job: index,
      pick: fc.nat(9),
      what: fc.constantFrom(...TOLD),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('expire' as const, 'lose' as const), job: index, pick: fc.nat(9) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('pause' as const, 'resume' as const, 'resume' as const, 'cancel' as const),
      job: index,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('deliver' as const), twice: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'sweep' as const }) },
);

class World {
  readonly jobs = new Map<string, JobState>(JOBS.map((id) => [id, this.submitted(id)]));
  readonly nodes = new Map<string, NodeState>(NODES.map((id) => [id, this.enrolled(id)]));
  /** The model: every claim that was granted and not given back, by node and execution. */
  readonly held = new Map<string, Contract>();
  readonly released: string[] = [];
  reductions = 0;
  private readonly due: Due[] = [];
  private clock = 0;
  private claims = 0;

  take(step: Step): void {
    this.clock += 7;
    switch (step.kind) {
      case 'place':
        return this.place(JOBS[step.job]!, NODES[step.node]!, step.contract, step.crash);
      case 'tell':
        return this.tell(JOBS[step.job]!, step.pick, step.what);
      case 'expire':
      case 'lose':
        return this.end(JOBS[step.job]!, step.pick, step.kind);
      case 'cancel':
        return this.onJob(JOBS[step.job]!, { type: 'CancelJob', reason: 'mistake', byUser: true, at: this.now() });
      case 'pause':
        return this.onJob(JOBS[step.job]!, { type: 'PauseJob', reason: 'wait', at: this.now() });
      case 'resume':
        return this.onJob(JOBS[step.job]!, { type: 'ResumeJob', at: this.now() });
      case 'deliver':
        return this.deliver(step.twice);
      case 'sweep':
        return this.sweep();
    }
  }

  /** All jobs end, everything that is due is delivered, and the sweep finds what was forgotten. */
  settle(): void {
    this.clock += 10_000;
    for (const [id, job] of this.jobs) {
      if (!job.ended) this.onJob(id, { type: 'CancelJob', reason: 'end', byUser: false, at: this.now() });
      for (const { executionId } of liveExecutions(this.jobs.get(id)!)) {
        this.onJob(id, { type: 'DeclareExecutionLost', executionId, reason: 'end', at: this.now() });
      }
    }
    this.sweep();
  }

  private now(): string {
    return second(this.clock);
  }

  /** Node first, job second; undone on a conflict, or left behind by a crash in between. */
  private place(jobId: string, nodeId: string, contract: Contract, crash: boolean): void {
    const job = this.jobs.get(jobId)!;
    this.claims += 1;
    const executionId = `${jobId}.${this.claims}`;
    const expiresAt = second(this.clock + 15);
    const claim = { executionId, jobId, project: 'demo', contract, expiresAt, at: this.now() };
    if (!this.onNode(nodeId, { type: 'ReserveCapacity', ...claim })) return;
    this.held.set(`${nodeId} ${executionId}`, contract);
    if (crash) return;
    const partition = Math.max(
      0,
      job.partitions.findIndex(({ state }) => state === 'waiting'),
    );
    const placement = aPlacement(this.claims, this.clock, {
      jobId,
      number: job.decisions + 1,
      partition,
      nodeId,
      contract,
    });
    this.onJob(jobId, placement);
    if (!this.jobs.get(jobId)!.executions[executionId]) this.release({ executionId, nodeId, cause: 'superseded' });
  }

  private tell(jobId: string, pick: number, what: (typeof TOLD)[number]): void {
    const execution = Object.values(this.jobs.get(jobId)!.executions).at(-1 - (pick % 3));
    if (!execution) return;
    const number = Number(execution.executionId.split('.')[1]);
    const from = { jobId, nodeId: execution.nodeId, fencingToken: execution.fencingToken };
    const reports = {
      confirm: () => aConfirmation(number, this.clock, from),
      'confirm-less': () => {
        const contract = { ...execution.contract, memory: Math.floor(execution.contract.memory / 2) };
        return aReport(number, this.clock, { type: 'confirm', contract }, from);
      },
      start: () => aReport(number, this.clock, { type: 'start' }, from),
      succeed: () => aSuccess(number, this.clock, from),
      fail: () => aFailure(number, this.clock, {}, from),
      stopped: () => aFailure(number, this.clock, { class: 'cancelled' }, from),
      decline: () => aReport(number, this.clock, { type: 'decline', reason: 'busy' }, from),
    };
    this.onJob(jobId, reports[what]());
  }

  private end(jobId: string, pick: number, kind: 'expire' | 'lose'): void {
    const executions = Object.values(this.jobs.get(jobId)!.executions);
    const execution = executions[pick % Math.max(1, executions.length)];
    if (!execution) return;
    const { executionId } = execution;
    if (kind === 'expire') this.onJob(jobId, { type: 'ExpireReservation', executionId, at: this.now() });
    else this.onJob(jobId, { type: 'DeclareExecutionLost', executionId, reason: 'silent', at: this.now() });
  }

  /** Each end of an execution asks for one release, each smaller contract for one reduction; they may come late. */
  private onJob(jobId: string, command: JobCommand): void {
    const before = this.jobs.get(jobId)!;
    const decision = jobDecider.decide(command, before);
    if (decision.kind === 'rejected') return;
    const after = fold(jobDecider, decision.events, before);
    this.jobs.set(jobId, after);
    for (const { executionId, nodeId, state, contract } of Object.values(after.executions)) {
      const was = before.executions[executionId];
      if (was && was.contract !== contract) this.due.push({ executionId, nodeId, what: contract });
      if (was && isLive(was) && !isLive({ state })) {
        this.due.push({ executionId, nodeId, what: state as ReleaseCause });
      }
    }
  }

  private deliver(twice: boolean): void {
    const next = twice ? this.due[0] : this.due.shift();
    if (!next) return;
    const { executionId, nodeId, what } = next;
    if (typeof what === 'string') this.release({ executionId, nodeId, cause: what });
    else this.reduce(executionId, nodeId, what);
  }

  private reduce(executionId: string, nodeId: string, contract: Contract): void {
    const key = `${nodeId} ${executionId}`;
    ok(this.onNode(nodeId, { type: 'ReduceCapacity', executionId, contract, at: this.now() }));
    if (!this.held.has(key)) return;
    this.held.set(key, contract);
    this.reductions += 1;
  }

  private release({ executionId, nodeId, cause }: { executionId: string; nodeId: string; cause: ReleaseCause }): void {
    const before = this.nodes.get(nodeId)!.held[executionId];
    this.onNode(nodeId, { type: 'ReleaseCapacity', executionId, cause, at: this.now() });
    if (before) this.released.push(executionId);
    this.held.delete(`${nodeId} ${executionId}`);
  }

  /** Compares ledgers with jobs: what has ended is released, what was confirmed with less reduced, what never came fenced off. */
  private sweep(): void {
    for (const [nodeId, node] of this.nodes) {
      for (const { executionId, jobId, expiresAt } of Object.values(node.held)) {
        const known = this.jobs.get(jobId)!.executions[executionId];
        if (known && isLive(known)) this.reduce(executionId, nodeId, known.contract);
        if (known ? isLive(known) : expiresAt > this.now()) continue;
        if (!known) this.onJob(jobId, { type: 'AbandonReservation', executionId, nodeId, at: this.now() });
        this.release({ executionId, nodeId, cause: known ? (known.state as ReleaseCause) : 'abandoned' });
      }
    }
  }

  private onNode(nodeId: string, command: NodeCommand): boolean {
    const before = this.nodes.get(nodeId)!;
    const decision = nodeDecider.decide(command, before);
    if (decision.kind === 'rejected') return false;
    this.nodes.set(nodeId, fold(nodeDecider, decision.events, before));
    return true;
  }

  private submitted(jobId: string): JobState {
    const retry = { ...aJobSpec().retry, attempts: 20 };
    const decision = jobDecider.decide(
      aSubmission({ jobId, spec: aJobSpec({ count: 2, retry }) }),
      jobDecider.initialState(),
    );
    return fold(jobDecider, decision.kind === 'accepted' ? decision.events : []);
  }

  private enrolled(nodeId: string): NodeState {
    const command = anEnrollment({ nodeId, name: nodeId, inventory: INVENTORY });
    const decision = nodeDecider.decide(command, nodeDecider.initialState());
    return fold(nodeDecider, decision.kind === 'accepted' ? decision.events : []);
  }
}

const amounts = (free: typeof TOTAL): number[] => [
  free.cpuMilli,
  free.memory,
  free.disk,
  free.ioSlots,
  ...Object.values(free.gpus).flatMap(({ shareMilli, memory }) => [shareMilli, memory]),
];

const freeOf = ({ inventory, held }: NodeState) =>
  freeCapacity(
    inventory,
    Object.values(held).map(({ contract }) => contract),
  );

/** Plain assertions: this runs after each of some thirty thousand steps. */
const check = (world: World): void => {
  const whole = amounts(TOTAL);
  for (const [nodeId, node] of world.nodes) {
    const free = amounts(freeOf(node));
    ok(
      free.every((left, at) => left >= 0 && left <= whole[at]!),
      `${nodeId} has ${free.join(' ')} of ${whole.join(' ')}`,
    );
    const model = [...world.held.keys()].filter((key) => key.startsWith(`${nodeId} `)).join();
    const ledger = Object.keys(node.held).map((executionId) => `${nodeId} ${executionId}`);
    equal(ledger.join(), model);
    for (const { executionId, contract } of Object.values(node.held)) {
      equal(contract.memory, world.held.get(`${nodeId} ${executionId}`)!.memory);
    }
  }
  for (const job of world.jobs.values()) {
    for (const { executionId, nodeId, contract } of liveExecutions(job)) {
      const held = world.nodes.get(nodeId)!.held[executionId];
      ok(held && held.contract.memory >= contract.memory, `${executionId} is live and not held`);
    }
  }
};

describe('the ledgers of nodes and the executions of jobs', () => {
  it('A-39 over 1,000 random histories nothing is lent twice, what lives is held, and all is free at the end', () => {
    let placed = 0;
    let reduced = 0;
    fc.assert(
      fc.property(fc.array(steps, { minLength: 10, maxLength: 50, size: 'max' }), (history) => {
        const world = new World();
        for (const step of history) {
          world.take(step);
          check(world);
        }
        world.settle();
        check(world);
        for (const node of world.nodes.values()) expect(freeOf(node)).toEqual(TOTAL);
        expect(new Set(world.released).size).toBe(world.released.length);
        placed += world.released.length;
        reduced += world.reductions;
      }),
      { numRuns: 1000 },
    );
    // Most histories must lend something, or they show nothing.
    expect(placed).toBeGreaterThan(2000);
    expect(reduced).toBeGreaterThan(200);
  });

  it('A-39 the order of reserving and releasing makes no difference to what is free', () => {
    fc.assert(
      fc.property(fc.array(contracts, { maxLength: 12 }), fc.integer(), (list, turn) => {
        const rotated = list.map((_, at) => list[(at + (Math.abs(turn) % Math.max(1, list.length))) % list.length]!);
        expect(freeCapacity(INVENTORY, rotated)).toEqual(freeCapacity(INVENTORY, list));
      }),
    );
  });
});
