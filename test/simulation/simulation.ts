import { MemoryLog, randomFaults } from '#event-store';
import type { FaultRates, MemoryFaults } from '#event-store';
import { FakeTime, toInstant } from '#kernel';
import type { Millis } from '#kernel';
import type { Inventory, Policy } from '#nodes';
import type { SnapshotStore } from '#scheduling';
import { MemorySnapshots } from '#scheduling/testing';
import { SimulatedAgent } from './agent.js';
import { Chance } from './chance.js';
import { ControlPlane, RefusedCommand } from './control-plane.js';
import type { Surroundings } from './control-plane.js';
import { Network } from './network.js';
import { Observed } from './observed.js';
import { poolsOf, withPools } from './pools.js';
import { dependentsOf, MIXED, PROJECTS, START_OF_TIME } from './workload.js';
import type { PlannedJob, Workload } from './workload.js';

export interface SimulationOptions {
  readonly seed: number;
  readonly agents: number;
  readonly jobs: number;
  /** Milliseconds of virtual time in which things go wrong. */
  readonly storm: Millis;
  readonly workload: Workload;
  readonly trace?: (line: string) => void;
}

export const DEFAULTS = { agents: 20, jobs: 500, storm: 600_000, workload: MIXED };

/** The longest virtual time after the storm in which all must come to rest. */
const REST_WITHIN: Millis = 2 * 3_600_000;
const LOOK_EVERY: Millis = 30_000;
/** What is endless is in its place in this virtual time after the storm, or its users end it all the same. */
const RETIRED_AFTER: Millis = 20 * 60_000;

const RATES: FaultRates = {
  delayRequest: 0.01,
  delayAnswer: 0.01,
  loseAnswer: 0.005,
  retryLostAnswer: 0.005,
  failBeforeStoring: 0.005,
  delayRead: 0.01,
  failRead: 0.005,
  delayDelivery: 0.005,
  deliverTwice: 0.01,
  interrupt: 0.001,
  longest: 2_000,
};

/** One control plane through all its lives. */
interface Seat {
  readonly process: number;
  readonly clockOffset: Millis;
  current: ControlPlane;
  life: number;
  readonly snapshots: SnapshotStore;
  /** Appends until it crashes, when that is arranged, and whether the last of them is stored. */
  doom: { appends: number; stored: boolean } | undefined;
}

/**
 * The whole control plane, its agents and its users in one process and in virtual time, all from one seed.
 *
 * Modes. *Storm*: jobs arrive, messages and answers get lost, machines and control planes come and go. *Calm*: nothing new
 * goes wrong, what was cut or cordoned is healed, and time runs on until all that ends is at rest and all that is endless is
 * in its place, which it may keep what ends from for ever, so for twenty minutes at most; then that is ended, and time runs on
 * until it is at rest too, or for two hours at most.
 */
export class Simulation {
  readonly time = new FakeTime(START_OF_TIME);
  readonly log = new MemoryLog();
  readonly observed: Observed;
  readonly agents: SimulatedAgent[] = [];
  readonly calmFrom: Millis;
  private readonly seats: Seat[] = [];
  private readonly network: Network;
  private readonly chance: Chance;
  private readonly cutUntil = new Map<string, Millis>();
  private pendingCalls = 0;
  private retired = false;
  private storeAwayUntil = -Infinity;

  constructor(private readonly options: SimulationOptions) {
    this.chance = new Chance(options.seed, 'simulation');
    this.calmFrom = this.time.now() + options.storm;
    this.observed = new Observed(this.log, this.time, options.trace);
    this.network = new Network(
      {
        time: this.time,
        planes: () => this.seats.map(({ current }) => current),
        cut: (caller) => (this.cutUntil.get(caller) ?? 0) > this.time.now(),
        stormy: this.stormy,
      },
      this.chance.of('network'),
    );
  }

  /** Whether everything came to rest in time; what it left behind is in `log` and `observed`. */
  async run(): Promise<boolean> {
    this.openSeats();
    this.scheduleProjects();
    this.scheduleAgents();
    this.scheduleJobs();
    if (withPools(this.options.seed)) this.schedulePools();
    this.scheduleCrashes();
    this.scheduleOutages();
    await this.time.advanceAsync(this.options.storm);
    this.heal();
    const end = this.time.now() + REST_WITHIN;
    const retireAt = this.time.now() + RETIRED_AFTER;
    while (this.time.now() < end) {
      await this.time.advanceAsync(LOOK_EVERY);
      if (this.settledIn()) {
        this.observed.lookForOverlooked();
        this.observed.lookForUndrained(this.time.now() - LOOK_EVERY);
      }
      if (!this.retired && (this.inPlace() || this.time.now() >= retireAt)) this.retire();
      else if (this.retired && this.atRest()) return true;
    }
    return false;
  }

  private readonly stormy = (): boolean => this.time.now() < this.calmFrom;

  /** All that ends has ended, and what is endless is where it should be: its nodes, and a part of it wherever there is room. */
  private inPlace(): boolean {
    if (this.pendingCalls > 0 || this.observed.unsettled().length > 0) return false;
    return !this.options.workload.daemonsLive || this.observed.daemonsWaiting().length === 0;
  }

  /** What is endless is ended by its users. */
  private retire(): void {
    this.retired = true;
    for (const jobId of this.observed.endless()) {
      const cancel = { type: 'CancelJob', reason: 'enough', byUser: true } as const;
      void this.insist('operator', (plane) => plane.job(jobId, { ...cancel, at: plane.now() }));
    }
  }

  /**
   * No call of a user open, every agent that is there without anything left to do or to tell, and nothing open in the log; and
   * somebody there to see what falls due.
   */
  private atRest(): boolean {
    if (this.pendingCalls > 0 || !this.settledIn()) return false;
    if (!this.agents.every((agent) => agent.gone || (agent.idle && this.observed.knowsCacheOf(agent)))) return false;
    return this.observed.unsettled().length === 0;
  }

  /** Every control plane serves and reaches the store, for long enough to have done all that it found to do. */
  private settledIn(): boolean {
    const since = this.time.now() - 2 * LOOK_EVERY;
    if (this.storeAwayUntil > since) return false;
    return this.seats.every(({ current }) => current.serving && current.startedAt <= since);
  }

  private openSeats(): void {
    const planes = this.chance.happens(0.6) ? 2 : 1;
    for (let process = 0; process < planes; process += 1) {
      const clockOffset = process === 0 ? 0 : this.chance.int(-3_000, 3_000);
      const seat = {
        process,
        clockOffset,
        life: 0,
        doom: undefined,
        snapshots: new MemorySnapshots(),
      } as unknown as Seat;
      this.seats.push(seat);
      this.open(seat);
    }
  }

  private open(seat: Seat): void {
    seat.life += 1;
    seat.doom = undefined;
    const name = `plane-${String(seat.process)}`;
    const around: Surroundings = {
      time: this.time,
      log: this.log,
      presence: this.observed.presence(this.chance.of(`presence-${name}-${String(seat.life)}`), this.stormy),
      note: this.observed.note,
      overlooked: (who) => this.observed.wrong(`the sweep of ${who} placed a job that nothing had woken`),
      fault: (who, error) => this.observed.wrong(`${who} could not apply an event: ${String(error.stack)}`),
    };
    const faults = this.faultsOf(seat, this.chance.of(`faults-${name}-${String(seat.life)}`));
    seat.current = new ControlPlane(name, around, faults, { ...seat, many: this.options.jobs > 100 });
    this.observed.opened(seat.process, seat.life, seat.clockOffset);
    if (this.storeAwayUntil > this.time.now()) seat.current.store.cutOff(this.storeAwayUntil - this.time.now());
    void seat.current.start();
  }

  private faultsOf(seat: Seat, chance: Chance): MemoryFaults {
    const random = randomFaults(chance, RATES);
    return {
      append: (stream, events) => {
        const { doom } = seat;
        if (doom && (doom.appends -= 1) <= 0) {
          this.crash(seat);
          return doom.stored ? undefined : { kind: 'delay-request', by: 1 };
        }
        return this.stormy() ? random.append?.(stream, events) : undefined;
      },
      read: (stream) => (this.stormy() ? random.read?.(stream) : undefined),
      delivery: (event) => (this.stormy() ? random.delivery?.(event) : undefined),
    };
  }

  private crash(seat: Seat, downFor?: Millis): void {
    const { current } = seat;
    if (!current.serving && downFor === undefined) return;
    current.crash();
    const chance = this.chance.of(`down-${String(seat.process)}-${String(seat.life)}`);
    const span = downFor ?? (chance.happens(0.8) ? chance.int(500, 20_000) : chance.int(20_000, 150_000));
    this.time.after(span, () => seat.current === current && this.open(seat));
  }

  private scheduleCrashes(): void {
    const chance = this.chance.of('crashes');
    for (const seat of this.seats) {
      for (let crashes = chance.int(0, 3); crashes > 0; crashes -= 1) {
        const doom = { appends: chance.int(1, 40), stored: chance.happens(0.5) };
        this.during(chance, () => (seat.doom = doom));
      }
    }
    if (!chance.happens(0.4)) return;
    const downFor = chance.int(60_000, 240_000);
    this.during(chance, () => {
      for (const seat of this.seats) this.crash(seat, downFor);
    });
  }

  /** The event store itself is away for a while. */
  private scheduleOutages(): void {
    const chance = this.chance.of('outages');
    if (!chance.happens(0.3)) return;
    const span = chance.int(2_000, 120_000);
    this.during(chance, () => {
      this.observed.storeWentAway(span);
      this.storeAwayUntil = this.time.now() + span;
      for (const { current } of this.seats) current.store.cutOff(span);
    });
  }

  private scheduleProjects(): void {
    for (const { id, quota } of PROJECTS) {
      void this.insist('operator', (plane) =>
        plane.project({
          type: 'ConfigureProject',
          projectId: id,
          institution: 'usp',
          members: id === 'lab' ? ['ana', 'bia'] : ['*'],
          quota,
          weight: 1,
          at: plane.now(),
        }),
      );
    }
  }

  private scheduleAgents(): void {
    const { workload } = this.options;
    for (let index = 0; index < this.options.agents; index += 1) {
      const name = `n${String(index).padStart(2, '0')}`;
      const chance = this.chance.of(name);
      const parts = {
        time: this.time,
        network: this.network,
        truth: this.observed,
        stormy: this.stormy,
        note: this.observed.note,
      };
      const agent = new SimulatedAgent(workload.node(name, chance.of('node')), parts, chance.of('agent'));
      this.agents.push(agent);
      const joinsLate = chance.happens(workload.joinsLate);
      this.time.after(joinsLate ? chance.int(30_000, 400_000) : chance.int(0, 2_000), () => agent.start());
      this.scheduleTroubles(agent, chance.of('troubles'));
    }
  }

  private scheduleTroubles(agent: SimulatedAgent, chance: Chance): void {
    const times = (probability: number): number => (chance.happens(probability) ? chance.int(1, 2) : 0);
    for (let crashes = times(0.4); crashes > 0; crashes -= 1) {
      const [reboot, downFor] = [chance.happens(0.5), chance.int(500, chance.happens(0.3) ? 200_000 : 20_000)];
      this.during(chance, () => {
        agent.crash(reboot);
        this.time.after(downFor, () => !agent.alive && !agent.gone && agent.start());
      });
    }
    for (let cuts = times(0.4); cuts > 0; cuts -= 1) {
      const span = chance.int(1_000, chance.happens(0.4) ? 200_000 : 20_000);
      this.during(chance, () => {
        this.observed.note(agent.name, `is cut off for ${String(span)} ms`);
        this.cutUntil.set(agent.name, Math.min(this.calmFrom, this.time.now() + span));
      });
    }
    if (chance.happens(0.4)) this.scheduleCordon(agent, chance);
    if (chance.happens(0.25)) this.scheduleOtherMind(agent, chance);
    if (chance.happens(this.options.workload.leaves)) this.during(chance, () => agent.leave());
  }

  private scheduleCordon({ name }: SimulatedAgent, chance: Chance): void {
    const drain = chance.happens(0.5);
    const span = chance.int(5_000, 200_000);
    const stays = chance.happens(this.options.workload.staysCordoned);
    const notice = drain && chance.happens(0.7) ? chance.int(0, 15_000) : undefined;
    this.during(chance, () => {
      void this.insist('operator', (plane) => {
        const reason = 'maintenance';
        if (!drain) return plane.node(name, { type: 'CordonNode', reason, at: plane.now() });
        const until = notice === undefined ? {} : { deadline: toInstant(this.time.now() + notice) };
        return plane.node(name, { type: 'DrainNode', reason, ...until, at: plane.now() });
      });
      if (stays) return;
      const uncordon = (): void => {
        void this.insist('operator', (plane) => plane.node(name, { type: 'UncordonNode', at: plane.now() }));
      };
      this.time.after(span, uncordon);
    });
  }

  /** Operators make pools of the machines, and others of them, and none. */
  private schedulePools(): void {
    const chance = this.chance.of('pools');
    for (const { name } of this.agents) {
      for (const { at, pool } of poolsOf(chance, this.options.storm)) {
        this.time.after(at, () => {
          void this.insist('operator', (plane) => plane.node(name, { type: 'ChangePool', pool, at: plane.now() }));
        });
      }
    }
  }

  /** Its owner lends it to others for a while, or moves it to another zone. */
  private scheduleOtherMind({ name, planned }: SimulatedAgent, chance: Chance): void {
    const change = (policy: Policy, inventory: Inventory): void => {
      void this.insist('operator', (plane) => plane.node(name, { type: 'ChangePolicy', policy, at: plane.now() }));
      void this.insist('operator', (plane) =>
        plane.node(name, { type: 'ChangeInventory', inventory, at: plane.now() }),
      );
    };
    const { policy, inventory } = planned;
    const other = chance.happens(0.5) ? { ...policy, deny: { projects: ['demo'] } } : policy;
    const moved = { ...inventory, labels: { ...inventory.labels, zone: chance.pick(['a', 'b', 'c', 'nowhere']) } };
    const stays = chance.happens(0.3);
    const span = chance.int(5_000, 200_000);
    this.during(chance, () => {
      change(other, moved);
      if (!stays) this.time.after(span, () => change(policy, inventory));
    });
  }

  private scheduleJobs(): void {
    for (let index = 0; index < this.options.jobs; index += 1) {
      const chance = this.chance.of(`job-${String(index)}`);
      const job = this.options.workload.job(index, this.options.jobs, chance);
      this.time.after(chance.int(0, this.options.storm * 0.7), () => void this.submit(job, chance));
    }
  }

  private async submit(job: PlannedJob, chance: Chance): Promise<void> {
    const state = await this.insist(job.account, (plane) => plane.submit(job));
    this.observed.submitted(job.key, state !== undefined);
    if (!this.options.workload.whims) return;
    if (state) void this.submitDependents(job, chance.of('graph'));
    const jobId = job.key;
    if (chance.happens(0.1)) {
      await this.pause(chance.int(0, 60_000));
      const answer = await this.insist(job.account, (plane) =>
        plane.job(jobId, { type: 'CancelJob', reason: 'not needed', byUser: true, at: plane.now() }),
      );
      if (answer) this.observed.cancelled(jobId);
    } else if (chance.happens(0.05)) {
      await this.pause(chance.int(0, 60_000));
      await this.insist(job.account, (plane) =>
        plane.job(jobId, { type: 'PauseJob', reason: 'wait', at: plane.now() }),
      );
      await this.pause(chance.int(0, 60_000));
      await this.insist(job.account, (plane) => plane.job(jobId, { type: 'ResumeJob', at: plane.now() }));
    } else if (chance.happens(0.05)) {
      await this.pause(chance.int(0, 60_000));
      const priority = chance.int(0, 100);
      await this.insist(job.account, (plane) =>
        plane.job(jobId, { type: 'ChangePriority', priority, at: plane.now() }),
      );
    }
  }

  /** What waits for others is submitted after them. */
  private async submitDependents(job: PlannedJob, chance: Chance): Promise<void> {
    for (const one of dependentsOf(job, this.options.jobs, chance)) await this.submit(one, chance.of(one.key));
  }

  /** As a client does that repeats its request until it is answered; `undefined` for a refusal. */
  private async insist<Answer>(
    caller: string,
    request: (plane: ControlPlane) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    this.pendingCalls += 1;
    try {
      for (;;) {
        try {
          return await this.network.call(caller, request);
        } catch (error) {
          if (error instanceof RefusedCommand) {
            this.observed.note(caller, `was refused: ${error.message}`);
            return undefined;
          }
          await this.pause(1_000);
        }
      }
    } finally {
      this.pendingCalls -= 1;
    }
  }

  private pause(span: Millis): Promise<void> {
    return new Promise((resolve) => void this.time.after(span, resolve));
  }

  /** At some moment of the storm. */
  private during(chance: Chance, run: () => void): void {
    this.time.after(chance.int(10_000, this.options.storm - 1_000), run);
  }

  private heal(): void {
    this.observed.note('storm', `is over at ${toInstant(this.time.now())}`);
    this.cutUntil.clear();
    for (const seat of this.seats) seat.doom = undefined;
    for (const agent of this.agents) if (!agent.alive && !agent.gone) agent.start();
  }
}
