import type { Clock, Millis, Timers } from '#kernel';
import type { RunningService, Service } from './service.js';

export interface SupervisorPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Tells people what happens, one line at a time. */
  readonly say: (line: string) => void;
}

const FIRST_PAUSE: Millis = 500;
const LONGEST_PAUSE: Millis = 30_000;
/** A service that stood this long has recovered: the next pause is the first again. */
const STEADY: Millis = 60_000;

/** Starts services in order, keeps each running, and stops them in the reverse order. */
export class Supervisor {
  private readonly kept: Kept[] = [];
  private readonly starting: Promise<void>[] = [];
  private readonly stopped = new AbortController();
  private end: Promise<void> | undefined;

  constructor(private readonly ports: SupervisorPorts) {}

  /** Resolves when the service answers. A service that fails its first start is not kept: the caller sees why. */
  start(service: Service): Promise<void> {
    const start = this.startFirst(service);
    this.starting.push(start.catch(() => undefined));
    return start;
  }

  /** Ends whatever is starting, then stops what runs, last first. Calling it again waits for the same end. */
  stop(): Promise<void> {
    this.end ??= this.stopAll();
    return this.end;
  }

  private async startFirst(service: Service): Promise<void> {
    const running = await service.start(this.stopped.signal);
    this.kept.push(keep(service, running, this.ports, this.stopped.signal));
    this.stopped.signal.throwIfAborted();
    this.ports.say(running.line);
  }

  private async stopAll(): Promise<void> {
    this.stopped.abort(new Error('stopped'));
    await Promise.all(this.starting);
    for (const kept of this.kept.reverse()) {
      await kept.ended;
      await kept.running().stop();
    }
  }
}

interface Kept {
  readonly running: () => RunningService;
  /** Resolves when nothing will be started any more. */
  readonly ended: Promise<void>;
}

/**
 * Keeps one service running. *Running*: until it ends by itself, or until the supervisor stops. *Pausing*: after an end,
 * for half a second, doubled at each end that follows soon, at most 30 s. *Starting*: a start that fails counts as an end.
 * The supervisor's stop ends each of these at once; the service itself is then stopped by the supervisor, in its order.
 */
const keep = (service: Service, first: RunningService, ports: SupervisorPorts, stopped: AbortSignal): Kept => {
  let running = first;
  const stop = new Promise<'stopped'>((resolve) => {
    if (stopped.aborted) resolve('stopped');
    stopped.addEventListener('abort', () => resolve('stopped'), { once: true });
  });
  const restart = async (): Promise<{ how: Promise<string> }> => {
    try {
      running = await service.start(stopped);
      if (!stopped.aborted) ports.say(`${running.line} (again)`);
      return { how: running.exited };
    } catch (error) {
      return { how: Promise.resolve(error instanceof Error ? error.message : String(error)) };
    }
  };
  const loop = async (): Promise<void> => {
    let pause = FIRST_PAUSE;
    let since = ports.clock.now();
    let end = { how: running.exited };
    while ((await Promise.race([stop, end.how])) !== 'stopped' && !stopped.aborted) {
      if (ports.clock.now() - since >= STEADY) pause = FIRST_PAUSE;
      ports.say(`${service.name} ended (${await end.how}); starting it again in ${pause / 1000} s`);
      if ((await wait(pause, ports.timers, stopped)) === 'stopped') return;
      pause = Math.min(pause * 2, LONGEST_PAUSE);
      since = ports.clock.now();
      end = await restart();
    }
  };
  return { running: () => running, ended: loop() };
};

const wait = (span: Millis, timers: Timers, stopped: AbortSignal): Promise<'over' | 'stopped'> =>
  new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      stopped.removeEventListener('abort', done);
      resolve(stopped.aborted ? 'stopped' : 'over');
    };
    const timer = timers.after(stopped.aborted ? 0 : span, done);
    stopped.addEventListener('abort', done);
  });
