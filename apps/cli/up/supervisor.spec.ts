import { describe, expect, it } from '@jest/globals';
import { FakeTime } from '#kernel';
import { Supervisor } from './supervisor.js';
import type { RunningService, Service } from './service.js';

/** A service that ends when the test says so. */
class Puppet implements Service {
  starts = 0;
  broken = false;
  end: (how: string) => void = () => undefined;

  constructor(
    readonly name: string,
    private readonly log: string[],
  ) {}

  start(): Promise<RunningService> {
    this.starts += 1;
    if (this.broken) return Promise.reject(new Error('still broken'));
    const exited = new Promise<string>((resolve) => (this.end = resolve));
    const stop = async (): Promise<void> => {
      this.log.push(`stop ${this.name}`);
      this.end('stopped');
    };
    return Promise.resolve({ line: `${this.name} runs`, exited, stop });
  }
}

const setup = () => {
  const time = new FakeTime();
  const said: string[] = [];
  const supervisor = new Supervisor({ clock: time, timers: time, say: (line) => said.push(line) });
  return { time, said, supervisor, log: [] as string[] };
};

describe('the supervisor', () => {
  it('stops what runs, last first, and starts nothing any more', async () => {
    const { supervisor, log, time } = setup();
    const services = ['store', 'api', 'agent'].map((name) => new Puppet(name, log));
    for (const service of services) await supervisor.start(service);
    await supervisor.stop();
    await time.advanceAsync(60_000);
    expect(log).toEqual(['stop agent', 'stop api', 'stop store']);
    expect(services.map(({ starts }) => starts)).toEqual([1, 1, 1]);
  });

  it('starts a service again that died, and says so', async () => {
    const { supervisor, said, time, log } = setup();
    const api = new Puppet('api', log);
    await supervisor.start(api);
    api.end('SIGKILL');
    await time.advanceAsync(499);
    expect(api.starts).toBe(1);
    await time.advanceAsync(1);
    expect(api.starts).toBe(2);
    expect(said).toEqual(['api runs', 'api ended (SIGKILL); starting it again in 0.5 s', 'api runs (again)']);
    await supervisor.stop();
  });

  it('waits longer each time while a service cannot start, and at most 30 s', async () => {
    const { supervisor, said, time, log } = setup();
    const api = new Puppet('api', log);
    await supervisor.start(api);
    api.broken = true;
    api.end('exit code 1');
    await time.advanceAsync(300_000);
    const pauses = said.slice(1).map((line) => /in ([\d.]+) s$/.exec(line)?.[1]);
    expect(pauses.slice(0, 9)).toEqual(['0.5', '1', '2', '4', '8', '16', '30', '30', '30']);
    expect(said[2]).toContain('still broken');
    await supervisor.stop();
  });

  it('takes the shortest pause again after a service stood for a minute', async () => {
    const { supervisor, said, time, log } = setup();
    const api = new Puppet('api', log);
    await supervisor.start(api);
    for (const stood of [0, 0, 60_000]) {
      await time.advanceAsync(stood);
      api.end('SIGKILL');
      await time.advanceAsync(1_000);
    }
    const pauses = said.flatMap((line) => /in ([\d.]+) s$/.exec(line)?.[1] ?? []);
    expect(pauses).toEqual(['0.5', '1', '0.5']);
    await supervisor.stop();
  });

  it('does not keep a service whose first start fails', async () => {
    const { supervisor, time, log } = setup();
    const api = new Puppet('api', log);
    api.broken = true;
    await expect(supervisor.start(api)).rejects.toThrow('still broken');
    await time.advanceAsync(60_000);
    expect(api.starts).toBe(1);
    await supervisor.stop();
  });

  it('cuts a pause short when it is stopped', async () => {
    const { supervisor, time, log } = setup();
    const api = new Puppet('api', log);
    await supervisor.start(api);
    api.end('SIGKILL');
    await time.advanceAsync(1);
    await supervisor.stop();
    expect(time.nextDue()).toBeUndefined();
    expect(api.starts).toBe(1);
  });

  it('stops a service that comes up while it is being stopped', async () => {
    const { supervisor, log } = setup();
    const api = new Puppet('api', log);
    const start = supervisor.start(api);
    const stop = supervisor.stop();
    await expect(start).rejects.toThrow('stopped');
    await stop;
    expect(log).toEqual(['stop api']);
  });
});
