import type { ExecutionReserved, JobSpec } from '#jobs';
import type { Millis } from '#kernel';
import type { Discipline } from '#nodes';
import { EPOCH } from '#testing';
import { toMillis } from '#kernel';
import { SchedulingWorld } from './scheduling-world.js';

/** A job that takes exactly as long as it says, in seconds. */
export interface TimedJob {
  readonly jobId: string;
  readonly cpu: number;
  readonly duration: number;
  /** The node is not told. */
  readonly untold?: boolean;
  readonly priority?: number;
}

/** A control plane whose nodes, all in one pool, start what they are given at once. Projects have no shares, and nobody ages. */
export class RunningPool {
  readonly world = new SchedulingWorld({ options: { aging: 0, workers: 1 } });
  /** When each job was given its node, in seconds from the beginning, in that order. */
  readonly starts = new Map<string, number>();
  private readonly durations = new Map<string, number>();

  async begin(discipline: Discipline | undefined, ...cores: readonly number[]): Promise<this> {
    const { world } = this;
    await world.project();
    await world.looping();
    world.view.listen(({ type, stream, data }) => {
      if (type === 'ExecutionReserved') void this.run(stream.slice('job-'.length), data as ExecutionReserved['data']);
    });
    for (const [index, cpu] of cores.entries()) await world.node(`n${index}`, { cpu });
    world.time.every(5_000, () => cores.forEach((_, index) => world.seen.set(`n${index}`, world.time.now())));
    if (discipline) await this.pool(discipline, ...cores.keys());
    await this.pass(10);
    return this;
  }

  async pool(discipline: Discipline, ...nodes: readonly number[]): Promise<void> {
    const pool = { name: 'lab', discipline };
    for (const node of nodes) {
      await this.world.onNode(`n${node}`, { type: 'ChangePool', pool, at: this.world.now() });
    }
  }

  async submit(
    { jobId, cpu, duration, untold = false, priority = 50 }: TimedJob,
    spec: Partial<JobSpec> = {},
  ): Promise<void> {
    this.durations.set(jobId, duration);
    const resources = { cpu, memory: 1, disk: 0, ioSlots: 0 };
    await this.world.submit(jobId, { resources, priority, ...(!untold && { estimate: { duration } }), ...spec });
    await this.world.time.advanceAsync(1);
  }

  pass(seconds: number): Promise<void> {
    return this.world.time.advanceAsync(seconds * 1000);
  }

  /** Seconds from the beginning. */
  get now(): number {
    return this.secondsOf(this.world.time.now());
  }

  secondsOf(at: Millis): number {
    return (at - toMillis(EPOCH)) / 1000;
  }

  private async run(jobId: string, { executionId }: ExecutionReserved['data']): Promise<void> {
    const { world } = this;
    this.starts.set(jobId, this.now);
    await world.report(executionId, 'start');
    await world.pause((this.durations.get(jobId) ?? 0) * 1000);
    await world.report(executionId, 'succeed', { exitCode: 0, artifacts: [], consumption: {} });
  }
}
