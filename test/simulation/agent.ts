import type { Contract, FailReport, Report, ReportAnswer } from '#contracts';
import type { FailureClass } from '#jobs';
import type { FakeTime, Millis } from '#kernel';
import { aConsumption } from '#testing';
import type { Chance } from './chance.js';
import { RefusedCommand } from './control-plane.js';
import type { Told, ToldSet } from './control-plane.js';
import type { Network } from './network.js';
import type { PlannedNode } from './workload.js';

/** What really happens on the machines; the invariants are held against it. */
export interface Truth {
  /** A task begins to run. `heard` is the newest revision of its assignments that the node was told. */
  started(agent: SimulatedAgent, told: Told): void;
  ended(agent: SimulatedAgent, told: Told): void;
  /** A control plane said that it took the report in. */
  acknowledged(agent: SimulatedAgent, report: Report, answer: ReportAnswer): void;
  wrong(what: string): void;
}

export interface AgentParts {
  readonly time: FakeTime;
  readonly network: Network;
  readonly truth: Truth;
  readonly stormy: () => boolean;
  readonly note: (who: string, what: string) => void;
}

/** What a node keeps of an execution on its disk. */
interface Entry {
  readonly told: Told;
  phase: 'admitted' | 'running' | 'finished';
  /** When the task's process ends by itself; it runs on while its agent is away. */
  endsAt: Millis;
  /** When its agent ends it, because it may run no longer. */
  limitAt: Millis;
  pausedAt: Millis | undefined;
  last: Report | undefined;
}

/** An entry with what only the living agent knows of it. */
interface Held {
  readonly entry: Entry;
  desired: Told['desired'];
  stop: string | undefined;
  discarded: boolean;
  wake: () => void;
}

interface Waiting {
  readonly report: Report;
  readonly settle: (answer: ReportAnswer) => void;
}

/** So few that caches overflow. */
const CACHED = 3;

type Outcome = 'succeeds' | FailureClass;

/**
 * A node's agent as the control plane sees one: it polls for its assignments, confirms or declines, runs, reports in order
 * until acknowledged, and keeps unacknowledged results on disk. A crash takes all but the disk and, as it happens, the
 * processes; what a living agent does after a crash belongs to its next life.
 */
export class SimulatedAgent {
  readonly name: string;
  /** The newest revision of its assignments that it was told, in any life. */
  heard = -1n;
  alive = false;
  /** Left for good. */
  gone = false;
  private life = 0;
  private enrolled = false;
  private readonly disk = new Map<string, Entry>();
  /** Digests of inputs on its disk, the latest last. */
  private cache: readonly string[] = [];
  private cacheTold: string | undefined;
  private held = new Map<string, Held>();
  private over = new Set<string>();
  private reports: Waiting[] = [];
  private sending = false;
  private readonly drift: number;

  constructor(
    readonly planned: PlannedNode,
    private readonly parts: AgentParts,
    private readonly chance: Chance,
  ) {
    this.name = planned.name;
    this.drift = 0.85 + chance.next() * 0.3;
  }

  /** Whether nothing is left for it to run or to report. */
  get idle(): boolean {
    return this.disk.size === 0 && this.reports.length === 0 && this.hasToldCache();
  }

  /** What the control plane is to know of its cache when all is told. */
  get cached(): readonly string[] {
    return this.cache;
  }

  start(): void {
    this.life += 1;
    this.alive = true;
    this.held = new Map();
    this.over = new Set();
    this.reports = [];
    this.sending = false;
    this.parts.note(this.name, 'starts');
    void this.live(this.life);
  }

  /** `reboot`: the machine goes down, with every process on it. */
  crash(reboot: boolean): void {
    if (!this.alive) return;
    this.alive = false;
    this.life += 1;
    this.parts.note(this.name, reboot ? 'reboots' : 'crashes');
    for (const entry of this.disk.values()) {
      if (entry.phase !== 'running' || !reboot) continue;
      this.parts.truth.ended(this, entry.told);
      entry.endsAt = -1;
    }
  }

  leave(): void {
    this.crash(true);
    this.gone = true;
    this.disk.clear();
  }

  private async live(life: number): Promise<void> {
    while (this.life === life) {
      try {
        await this.parts.network.call(this.name, (plane) => plane.enrol(this.planned, this.enrolled));
        break;
      } catch (error) {
        // The name is taken by itself: the answer to an earlier enrolment was lost.
        if (error instanceof RefusedCommand) break;
        await this.sleep(1_000);
      }
    }
    if (this.life !== life) return;
    this.enrolled = true;
    for (const entry of this.disk.values()) this.hold(entry, life, entry.told.desired);
    void this.beat(life);
    void this.tellCache(life);
    await this.poll(life);
  }

  private async beat(life: number): Promise<void> {
    while (this.life === life) {
      await this.parts.network.call(this.name, (plane) => plane.heartbeat(this.name)).catch(() => undefined);
      await this.sleep(5_000);
    }
  }

  /** All of it, whenever it has changed, and now and then without a change. */
  private async tellCache(life: number): Promise<void> {
    this.cacheTold = undefined;
    for (let quiet = 0; this.life === life; quiet += 1) {
      const telling = this.cache;
      if (!this.hasToldCache() || quiet > 10) {
        quiet = 0;
        const told = this.parts.network.call(this.name, (plane) => plane.cache(this.name, telling));
        await told.then(() => void (this.cacheTold = telling.join())).catch(() => undefined);
      }
      await this.sleep(12_000);
    }
  }

  private hasToldCache(): boolean {
    return this.cacheTold === this.cache.join();
  }

  private remember(inputs: readonly string[]): void {
    this.cache = [...this.cache.filter((one) => !inputs.includes(one)), ...new Set(inputs)].slice(-CACHED);
  }

  private async poll(life: number): Promise<void> {
    let after: bigint | undefined;
    while (this.life === life) {
      try {
        const since = after;
        const call = { timeout: 30_000 };
        const set = await this.parts.network.call(
          this.name,
          (plane) => plane.assignments(this.name, since, 25_000),
          call,
        );
        if (this.life !== life) return;
        after = set.revision;
        this.reconcile(set, life);
      } catch {
        await this.sleep(this.chance.int(200, 3_000));
      }
    }
  }

  private reconcile({ revision, executions }: ToldSet, life: number): void {
    if (revision < this.heard) {
      this.parts.truth.wrong(`${this.name} was told of ${String(revision)} after ${String(this.heard)}`);
    }
    this.heard = revision;
    const listed = new Map(executions.map((told) => [told.executionId, told]));
    for (const held of this.held.values()) {
      const told = listed.get(held.entry.told.executionId);
      if (told) this.desire(held, told.desired);
      else if (held.entry.phase !== 'finished') this.stop(held, 'not assigned any more');
    }
    for (const told of executions) {
      if (!this.held.has(told.executionId) && !this.over.has(told.executionId)) this.consider(told, life);
    }
  }

  private consider(told: Told, life: number): void {
    if (told.desired === 'stop') return this.refuse(told, 'cancelled', 'stopped before it began');
    if (told.state !== 'reserved') return this.refuse(told, 'infrastructure', 'no trace of it');
    if (this.parts.stormy() && this.chance.happens(0.04)) {
      this.over.add(told.executionId);
      void this.send({ type: 'decline', ...keyOf(told), reason: 'no room' });
      return;
    }
    const entry: Entry = {
      told,
      phase: 'admitted',
      endsAt: 0,
      limitAt: Infinity,
      pausedAt: undefined,
      last: undefined,
    };
    this.disk.set(told.executionId, entry);
    this.hold(entry, life, told.desired);
  }

  private refuse(told: Told, kind: FailureClass, message: string): void {
    this.over.add(told.executionId);
    void this.send(failure(told, kind, message));
  }

  private hold(entry: Entry, life: number, desired: Told['desired']): void {
    const held: Held = { entry, desired, stop: undefined, discarded: false, wake: () => undefined };
    this.held.set(entry.told.executionId, held);
    void this.carryOut(held, life);
  }

  private desire(held: Held, desired: Told['desired']): void {
    if (held.desired === desired) return;
    held.desired = desired;
    if (desired === 'stop') this.stop(held, 'stopped as asked');
    held.wake();
  }

  private stop(held: Held, reason: string): void {
    held.stop ??= reason;
    held.wake();
  }

  /** One execution from where its entry stands to the acknowledgement of its last report. */
  private async carryOut(held: Held, life: number): Promise<void> {
    const { entry } = held;
    const { told } = entry;
    const here = (): boolean => this.life === life;
    const goesOn = (): boolean => here() && !held.stop && !held.discarded;
    if (entry.phase === 'admitted') await this.begin(held, life, goesOn);
    if (!here()) return;
    if (entry.phase === 'running') await this.run(held, life);
    if (!here()) return;
    if (!held.discarded) {
      entry.last ??= failure(told, 'cancelled', held.stop ?? 'stopped');
      entry.phase = 'finished';
      await this.send(entry.last);
    }
    if (!here()) return;
    this.disk.delete(told.executionId);
    this.held.delete(told.executionId);
    this.over.add(told.executionId);
  }

  private async begin(held: Held, life: number, goesOn: () => boolean): Promise<void> {
    const { entry } = held;
    const { told } = entry;
    const slow = this.parts.stormy() && this.chance.happens(0.05);
    await this.sleepOf(held, slow ? this.chance.int(5_000, 40_000) : this.chance.int(0, 500));
    if (!goesOn()) return;
    await this.send({ type: 'confirm', ...keyOf(told), ...this.less(told) });
    if (!goesOn()) return;
    if (this.chance.happens(0.3)) {
      void this.send({ type: 'prepare', ...keyOf(told) });
      await this.sleepOf(held, this.chance.int(100, 5_000));
    }
    while (goesOn() && held.desired === 'pause') await this.changeOf(held);
    if (!goesOn()) return;
    if (this.stumbles(0.02)) {
      entry.last = failure(told, this.chance.pick(['input', 'infrastructure']), 'it cannot begin');
      return;
    }
    entry.phase = 'running';
    entry.endsAt = this.parts.time.now() + told.run;
    // One that does not look at the time has it ended by the control plane.
    if (!this.stumbles(0.2)) entry.limitAt = this.parts.time.now() + told.limit;
    this.remember(told.inputs);
    this.parts.truth.started(this, told);
    void this.send({ type: 'start', ...keyOf(told) });
  }

  /** Now and then there is room for half of a batch only. */
  private less({ contract }: Told): { contract?: Contract } {
    const { memory, batchSize = 1 } = contract;
    if (batchSize === 1 || this.chance.happens(0.5)) return {};
    return { contract: { ...contract, memory: Math.ceil(memory / 2), batchSize: Math.ceil(batchSize / 2) } };
  }

  private async run(held: Held, life: number): Promise<void> {
    const { entry } = held;
    const { told } = entry;
    const { time, truth } = this.parts;
    if (entry.endsAt < 0) {
      entry.last = failure(told, 'infrastructure', 'the agent restarted and the task is gone');
      return;
    }
    if (entry.endsAt - time.now() > 8_000) this.tellProgress(held, life);
    while (!held.stop && !held.discarded) {
      if (held.desired === 'pause') {
        entry.pausedAt ??= (void this.send({ type: 'pause', ...keyOf(told) }), time.now());
        await this.changeOf(held);
      } else if (entry.pausedAt !== undefined) {
        entry.endsAt += time.now() - entry.pausedAt;
        entry.limitAt += time.now() - entry.pausedAt;
        entry.pausedAt = undefined;
        void this.send({ type: 'resume', ...keyOf(told) });
      } else if (time.now() < endOf(entry)) await this.sleepOf(held, endOf(entry) - time.now());
      else break;
      if (this.life !== life) return;
    }
    truth.ended(this, told);
    if (held.stop || held.discarded) return;
    entry.last = entry.limitAt < entry.endsAt ? failure(told, 'timeout', 'timed out') : this.resultOf(told);
    if (entry.last.type === 'succeed' && this.chance.happens(0.3)) {
      void this.send({ type: 'publish', ...keyOf(told) });
      await this.sleep(this.chance.int(100, 2_000));
    }
  }

  private tellProgress(held: Held, life: number): void {
    const { told } = held.entry;
    this.parts.time.after(4_000, () => {
      if (this.life !== life || held.entry.phase !== 'running') return;
      void this.send({ type: 'progress', ...keyOf(told), fraction: 0.5, message: 'half' });
    });
  }

  private resultOf(told: Told): Report {
    const outcome = this.chance.weighted<Outcome>([
      [85, 'succeeds'],
      [4, 'application'],
      [1, 'input'],
      [3, 'resource'],
      [3, 'timeout'],
      [3, 'infrastructure'],
      [1, 'policy'],
    ]);
    if (outcome !== 'succeeds') return failure(told, outcome, `the task failed: ${outcome}`);
    return { type: 'succeed', ...keyOf(told), exitCode: 0, artifacts: [], consumption: aConsumption() };
  }

  private stumbles(probability: number): boolean {
    return this.parts.stormy() && this.chance.happens(probability);
  }

  /** In order, one at a time, until a control plane has answered. */
  private send(report: Report): Promise<ReportAnswer> {
    return new Promise((settle) => {
      this.reports.push({ report, settle });
      if (!this.sending) void this.pump(this.life);
    });
  }

  private async pump(life: number): Promise<void> {
    this.sending = true;
    for (let next = this.reports[0]; next && this.life === life; next = this.reports[0]) {
      const { report } = next;
      try {
        const answer = await this.deliver(report);
        if (this.life !== life) return;
        this.reports.shift();
        this.parts.truth.acknowledged(this, report, answer);
        if (!answer.accepted) this.discard(report.executionId);
        next.settle(answer);
      } catch (error) {
        if (this.life !== life) return;
        if (error instanceof RefusedCommand) {
          this.reports.shift();
          next.settle({ executionId: report.executionId, accepted: true });
        } else await this.sleep(this.chance.int(100, 3_000));
      }
    }
    if (this.life === life) this.sending = false;
  }

  private async deliver(report: Report): Promise<ReportAnswer> {
    const { network } = this.parts;
    if (this.stumbles(0.01)) {
      const stale = { ...report, fencingToken: report.fencingToken - 1 };
      const answer = await network.call(this.name, (plane) => plane.report(this.name, stale));
      if (answer.accepted) this.parts.truth.wrong(`${report.executionId} took a report with an old token`);
    }
    return network.call(this.name, (plane) => plane.report(this.name, report), { repeatable: true });
  }

  private discard(executionId: string): void {
    const held = this.held.get(executionId);
    this.reports = this.reports.filter(({ report, settle }) => {
      if (report.executionId !== executionId) return true;
      settle({ executionId, accepted: false });
      return false;
    });
    if (!held || held.discarded) return;
    held.discarded = true;
    held.wake();
  }

  private sleep(span: Millis): Promise<void> {
    return new Promise((resolve) => void this.parts.time.after(Math.round(span * this.drift), resolve));
  }

  /** Until the span is over or the execution is wanted otherwise. */
  private sleepOf(held: Held, span: Millis): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.parts.time.after(span, resolve);
      held.wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  private changeOf(held: Held): Promise<void> {
    return new Promise((resolve) => (held.wake = resolve));
  }
}

const endOf = ({ endsAt, limitAt }: Entry): Millis => Math.min(endsAt, limitAt);

const keyOf = ({ executionId, fencingToken }: Told): { executionId: string; fencingToken: number } => ({
  executionId,
  fencingToken,
});

const failure = (told: Told, kind: FailureClass, message: string): FailReport => {
  const ran = kind === 'application' ? { exitCode: 1 } : {};
  return { type: 'fail', ...keyOf(told), class: kind, code: kind, message, ...ran };
};
