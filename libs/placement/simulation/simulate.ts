import { byText, Heap } from '#kernel';
import type { FilteredReason } from '#jobs';
import type { Placement } from '../decide.js';
import { RecordedCluster } from './recorded-cluster.js';
import type { Run, Weighing } from './recorded-cluster.js';
import type { TraceJob, TraceNode } from './trace.js';
import { gpuCapacity, gpuMilliOf, inflated, inOrderOfTime } from './workload.js';

export interface SimulationOptions extends Weighing {
  readonly nodes: readonly TraceNode[];
  readonly jobs: readonly TraceJob[];
  readonly seed: number;
  /** One job after another and none ever leaves; one that does not fit is not asked about again. */
  readonly arrivalsOnly: boolean;
  /** See `inflated`. The jobs as they are when absent. */
  readonly inflate?: number;
}

/** Parts of all there is, in 0…1; undefined where there is none. */
export interface Allocation {
  readonly gpu: number | undefined;
  readonly cpu: number | undefined;
}

export interface Unplaced {
  readonly jobs: number;
  /** Of these: no node could take them even if it were empty. */
  readonly neverFit: number;
  /** Over the first reason of the most nodes at the last look: how many jobs. */
  readonly reasons: readonly { readonly reason: string; readonly never: boolean; readonly jobs: number }[];
}

export interface SimulationResult {
  readonly nodes: number;
  readonly gpus: number;
  readonly jobs: number;
  /** All that the jobs ask for, as a part of the GPUs there are. */
  readonly gpuAsked: number | undefined;
  readonly placed: number;
  readonly decisions: number;
  readonly allocation: {
    /** When the jobs that have come ask for as much as all GPUs together; absent when they never do. */
    readonly atFullArrivals: Allocation | undefined;
    readonly atEnd: Allocation;
    readonly peak: Allocation;
  };
  /** Seconds from arrival to start of the jobs that were placed. */
  readonly waits: { readonly p50: number; readonly p90: number; readonly p99: number; readonly max: number };
  readonly unplaced: Unplaced;
}

/** Runs a trace through the real placement, in virtual time. Pure: the same options give the same result. */
export const simulate = (options: SimulationOptions): SimulationResult => {
  const simulation = new Simulation(options);
  return simulation.run();
};

interface Waiting {
  readonly job: TraceJob;
  readonly since: number;
  last: Placement;
}

interface Departure {
  readonly at: number;
  readonly job: TraceJob;
  readonly run: Run;
}

/** Times are in seconds of the trace. */
class Simulation {
  private readonly recorded: RecordedCluster;
  private readonly arrivals: readonly TraceJob[];
  private readonly departures = new Heap<Departure>(
    (left, right) => left.at < right.at || (left.at === right.at && byText(left.job.name, right.job.name) < 0),
  );
  private waiting: Waiting[] = [];
  private readonly waits: number[] = [];
  private readonly gpuTotal: number;
  private readonly cpuTotal: number;
  private gpuHeld = 0;
  private cpuHeld = 0;
  private gpuPeak = 0;
  private cpuPeak = 0;
  private decisions = 0;
  private gpuArrived = 0;
  private atFullArrivals: Allocation | undefined;

  constructor(private readonly options: SimulationOptions) {
    const { nodes, jobs, inflate, seed } = options;
    this.recorded = new RecordedCluster(options);
    for (const node of [...nodes].sort((left, right) => byText(left.name, right.name))) this.recorded.enrol(node);
    this.arrivals = inflate === undefined ? inOrderOfTime(jobs) : inflated(jobs, nodes, inflate, seed);
    this.gpuTotal = gpuCapacity(nodes);
    this.cpuTotal = nodes.reduce((sum, { cpuMilli }) => sum + cpuMilli, 0);
  }

  run(): SimulationResult {
    if (this.options.arrivalsOnly) this.arrivals.forEach((job) => this.arrive(job, 0));
    else this.runInTime();
    return this.result();
  }

  /** What ends at a moment makes room for what comes at it. */
  private runInTime(): void {
    for (const job of inOrderOfTime(this.arrivals)) {
      this.departUntil(job.createdAt);
      this.arrive(job, job.createdAt);
    }
    this.departUntil(Number.MAX_VALUE);
  }

  private arrive(job: TraceJob, at: number): void {
    this.recorded.submit(job, at * 1000);
    this.gpuArrived += gpuMilliOf(job);
    const last = this.tryToPlace(job, 'JobSubmitted', at, at);
    if (last) this.waiting.push({ job, since: at, last });
    if (this.gpuTotal > 0 && this.gpuArrived >= this.gpuTotal) this.atFullArrivals ??= this.allocation();
  }

  /** The decision when there was no room. */
  private tryToPlace(job: TraceJob, trigger: string, since: number, at: number): Placement | undefined {
    const { placement, run } = this.recorded.place(job.name, trigger, at * 1000);
    this.decisions += 1;
    if (!run) return placement;
    this.waits.push(at - since);
    this.hold(job, 1);
    if (!this.options.arrivalsOnly && job.duration < Infinity)
      this.departures.push({ at: at + job.duration, job, run });
    return undefined;
  }

  private hold(job: TraceJob, sign: 1 | -1): void {
    this.gpuHeld += sign * gpuMilliOf(job);
    this.cpuHeld += sign * job.cpuMilli;
    this.gpuPeak = Math.max(this.gpuPeak, this.gpuHeld);
    this.cpuPeak = Math.max(this.cpuPeak, this.cpuHeld);
  }

  private departUntil(time: number): void {
    for (let next = this.departures.peek(); next && next.at <= time; next = this.departures.peek()) {
      const { at } = next;
      for (let also: Departure | undefined = next; also?.at === at; also = this.departures.peek()) {
        this.departures.pop();
        this.recorded.end(also.run, at * 1000);
        this.hold(also.job, -1);
      }
      this.retry(at);
    }
  }

  /** All that wait, the oldest first; when there is no room for one, there is none for another that asks for the same. */
  private retry(at: number): void {
    const without = new Map<string, Placement>();
    this.waiting = this.waiting.filter((entry) => {
      const kind = kindOf(entry.job);
      const known = without.get(kind);
      const last = known ?? this.tryToPlace(entry.job, 'CapacityReleased', entry.since, at);
      if (!last) return false;
      without.set(kind, last);
      entry.last = last;
      return true;
    });
  }

  private allocation(gpu = this.gpuHeld, cpu = this.cpuHeld): Allocation {
    return { gpu: partOf(gpu, this.gpuTotal), cpu: partOf(cpu, this.cpuTotal) };
  }

  private result(): SimulationResult {
    const { nodes } = this.options;
    return {
      nodes: nodes.length,
      gpus: this.gpuTotal / 1000,
      jobs: this.arrivals.length,
      gpuAsked: partOf(this.gpuArrived, this.gpuTotal),
      placed: this.waits.length,
      decisions: this.decisions,
      allocation: {
        atFullArrivals: this.atFullArrivals,
        atEnd: this.allocation(),
        peak: this.allocation(this.gpuPeak, this.cpuPeak),
      },
      waits: quantiles(this.waits),
      unplaced: unplaced(this.waiting),
    };
  }
}

const kindOf = ({ cpuMilli, memoryMib, gpus, gpuMilli, models }: TraceJob): string =>
  JSON.stringify([cpuMilli, memoryMib, gpus, gpuMilli, models]);

const partOf = (part: number, all: number): number | undefined => (all > 0 ? part / all : undefined);

/** Nearest ranks; 0 for none. */
const quantiles = (values: readonly number[]): SimulationResult['waits'] => {
  const sorted = [...values].sort((left, right) => left - right);
  const at = (part: number): number => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
};

const unplaced = (waiting: readonly Waiting[]): Unplaced => {
  const counts = new Map<string, { reason: string; never: boolean; jobs: number }>();
  for (const { last } of waiting) {
    const main = mainReason(last.decision.filtered);
    if (!main) continue;
    const key = `${main.reason} ${main.never}`;
    const known = counts.get(key) ?? { reason: main.reason, never: main.never, jobs: 0 };
    counts.set(key, { ...known, jobs: known.jobs + 1 });
  }
  return {
    jobs: waiting.length,
    neverFit: waiting.filter(({ last }) => last.decision.outcome === 'rejected').length,
    reasons: [...counts.values()].sort((left, right) => right.jobs - left.jobs || byText(left.reason, right.reason)),
  };
};

/** For a job that may fit one day: the one that holds back most of the nodes that could take it. */
const mainReason = (filtered: readonly FilteredReason[]): FilteredReason | undefined => {
  const passing = filtered.filter(({ never }) => !never);
  return (passing.length > 0 ? passing : [...filtered]).sort((left, right) => right.nodes - left.nodes)[0];
};
