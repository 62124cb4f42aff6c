import { loadavg } from 'node:os';
import type { HeartbeatRequest } from '#contracts';
import type { Clock, Timer, Timers } from '#kernel';
import { messageOf } from './client/errors.js';
import type { Logger } from 'pino';
import type { Http } from './client/http.js';
import { RoundTrips } from './round-trips.js';
import { freeDisk, freeMemory } from './inventory/detect.js';

/** As many as the protocol takes; they are for display only. */
const MOST_EXECUTIONS = 2_000;

/** Tells the server at a fixed interval that the node is there and what is free; a beat that fails is not made up for. */
export class Heartbeat {
  private timer: Timer | undefined;
  private beating = false;
  private readonly roundTrips = new RoundTrips();

  constructor(
    private readonly nodeId: string,
    private readonly data: string,
    private readonly http: Http,
    private readonly executions: () => readonly string[],
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly log: Logger,
  ) {}

  /** `interval` in milliseconds. */
  start(interval: number): void {
    this.stop();
    this.timer = this.timers.every(interval, () => void this.beat(interval));
    void this.beat(interval);
  }

  stop(): void {
    this.timer?.cancel();
  }

  private async beat(timeout: number): Promise<void> {
    if (this.beating) return;
    this.beating = true;
    try {
      const roundTrip = this.roundTrips.typical;
      const body: HeartbeatRequest = {
        executions: this.executions().slice(0, MOST_EXECUTIONS),
        freeMemory: freeMemory(),
        freeDisk: await freeDisk(this.data),
        load: loadavg()[0] ?? 0,
        ...(roundTrip !== undefined && { roundTrip: roundTrip / 1000 }),
      };
      const begun = this.clock.now();
      await this.http.json('POST', `/nodes/${this.nodeId}/heartbeat`, { body, timeout: Math.max(timeout, 2_000) });
      this.roundTrips.add(this.clock.now() - begun);
    } catch (error) {
      this.log.debug({ reason: messageOf(error) }, 'a heartbeat failed');
    } finally {
      this.beating = false;
    }
  }
}
