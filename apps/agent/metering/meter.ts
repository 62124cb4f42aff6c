import type { Consumption } from '#contracts';
import { peakMemory, processInfo, TICKS_PER_SECOND } from '../runner/process-table.js';
import type { ProcessInfo } from '../runner/process-table.js';

/** What samples and transfers have shown so far. Bytes; CPU in seconds. */
export interface Measured {
  readonly cpuSeconds: number;
  readonly maxMemory: number;
  readonly maxDisk: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export const NOTHING_MEASURED: Measured = { cpuSeconds: 0, maxMemory: 0, maxDisk: 0, bytesIn: 0, bytesOut: 0 };

/**
 * Adds up a task's process tree over time. CPU is the sum over every process ever seen, at its last sight; memory the
 * peak of the tree's resident sum, or of one process's own high-water mark when a spike fell between two samples.
 */
export class Meter {
  private readonly ticks = new Map<string, number>();
  private memory: number;
  private lapMemory = 0;
  private disk: number;
  private bytesIn: number;
  private bytesOut: number;

  constructor(private readonly before: Measured = NOTHING_MEASURED) {
    this.memory = before.maxMemory;
    this.disk = before.maxDisk;
    this.bytesIn = before.bytesIn;
    this.bytesOut = before.bytesOut;
  }

  /** Takes in the task's processes as they are now; answers the sum of their resident memory. */
  sample(tree: readonly ProcessInfo[], peakOf: (pid: number) => number = peakMemory): number {
    for (const { pid, startTime, cpuTicks } of tree) this.ticks.set(`${pid}:${startTime}`, cpuTicks);
    const resident = tree.reduce((sum, { memory }) => sum + memory, 0);
    this.sawMemory(Math.max(resident, ...tree.map(({ pid }) => peakOf(pid))));
    return resident;
  }

  /** Takes in the first process of a task, at its first moment. */
  look(pid: number): void {
    this.sample([processInfo(pid) ?? []].flat());
  }

  sawMemory(bytes: number): void {
    this.memory = Math.max(this.memory, bytes);
    this.lapMemory = Math.max(this.lapMemory, bytes);
  }

  /** The most memory since the last call, in bytes. */
  lap(): number {
    const peak = this.lapMemory;
    this.lapMemory = 0;
    return peak;
  }

  sawDisk(bytes: number): void {
    this.disk = Math.max(this.disk, bytes);
  }

  received(bytes: number): void {
    this.bytesIn += bytes;
  }

  sent(bytes: number): void {
    this.bytesOut += bytes;
  }

  measured(): Measured {
    let ticks = 0;
    for (const count of this.ticks.values()) ticks += count;
    return {
      cpuSeconds: this.before.cpuSeconds + ticks / TICKS_PER_SECOND,
      maxMemory: this.memory,
      maxDisk: this.disk,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
    };
  }
}

/**
 * The account of a finished execution. `exitCpuSeconds` is the supervisor's own count of its children, exact for all
 * that were waited for; samples also see those that were not, so the larger one holds.
 */
export const consumptionOf = (
  measured: Measured,
  wallSeconds: number,
  exitCpuSeconds: number,
  gpus: readonly { readonly share: number }[],
): Consumption => ({
  cpuSeconds: round(Math.max(measured.cpuSeconds, exitCpuSeconds)),
  wallSeconds: round(wallSeconds),
  maxMemory: measured.maxMemory,
  maxDisk: measured.maxDisk,
  gpuSeconds: round(gpus.reduce((sum, { share }) => sum + share * wallSeconds, 0)),
  bytesIn: measured.bytesIn,
  bytesOut: measured.bytesOut,
});

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;
