import { FakeTime } from '#kernel';
import { ResourceGovernor, TaskQueue } from '../index.js';
import type { Capacity, Estimate, LaneOptions, Step, TaskControl, TaskEnd, TaskRequest } from '../index.js';
import type { Contract } from '#nodes';

export const capacity = (part: Partial<Capacity> = {}): Capacity => ({
  cpu: 4,
  memory: 1000,
  disk: 1000,
  ioSlots: 2,
  gpus: [],
  ...part,
});

export const estimate = (resources: Partial<Estimate['resources']> = {}, more: Partial<Estimate> = {}): Estimate => ({
  resources: { cpu: 0, memory: 0, disk: 0, ioSlots: 0, ...resources },
  ...more,
});

/** Lets every promise that can settle do so. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Call {
  readonly contract: Contract;
  readonly control: TaskControl;
  readonly finish: (result?: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** A queue whose callbacks end when the test says so, and all that was seen of it. */
export class Bench {
  readonly time = new FakeTime();
  readonly governor: ResourceGovernor;
  readonly queue: TaskQueue;
  readonly steps: Step[] = [];
  /** Callbacks in the order of their calls. */
  readonly calls = new Map<string, Call>();
  readonly ends = new Map<string, TaskEnd>();

  constructor(has: Partial<Capacity> = {}, lanes?: readonly LaneOptions[], laneOf?: (estimate: Estimate) => string) {
    this.governor = new ResourceGovernor(capacity(has));
    this.queue = new TaskQueue({
      governor: this.governor,
      clock: this.time,
      observe: (step) => this.steps.push(step),
      ...(lanes && { lanes }),
      ...(laneOf && { laneOf }),
    });
  }

  request(id: string, needs: Estimate, more: Partial<TaskRequest> = {}): TaskRequest {
    return {
      id,
      estimate: needs,
      work: (contract, control) =>
        new Promise((resolve, reject) => {
          this.calls.set(id, { contract, control, finish: resolve, fail: reject });
          // A callback that ends as soon as it is asked to.
          control.signal.addEventListener('abort', () => resolve(undefined));
        }),
      ...more,
    };
  }

  submit(id: string, needs: Estimate = estimate(), more: Partial<TaskRequest> = {}): void {
    const answer = this.queue.submit(this.request(id, needs, more));
    if (answer.kind === 'rejected') throw new Error(answer.rejection.message);
    void answer.ended.then((end) => this.ends.set(id, end));
  }

  /** Submits, and lets it start if it can. */
  async start(id: string, needs: Estimate = estimate(), more: Partial<TaskRequest> = {}): Promise<void> {
    this.submit(id, needs, more);
    await settle();
  }

  async finish(id: string, result?: unknown): Promise<void> {
    this.calls.get(id)?.finish(result);
    await settle();
  }

  async fail(id: string, error: unknown): Promise<void> {
    this.calls.get(id)?.fail(error);
    await settle();
  }

  state(id: string): string | undefined {
    return this.queue.task(id)?.state;
  }

  started(): string[] {
    return [...this.calls.keys()];
  }

  count(step: Step['step'], task?: string): number {
    return this.steps.filter((one) => one.step === step && (task === undefined || ('task' in one && one.task === task)))
      .length;
  }

  /** The steps of one task, by name. */
  path(task: string): string[] {
    return this.steps.flatMap((one) => ('task' in one && one.task === task ? [one.step] : []));
  }

  get freeCpu(): number {
    return 4000 - this.governor.contracts().reduce((sum, { cpu }) => sum + Math.round(cpu * 1000), 0);
  }
}
