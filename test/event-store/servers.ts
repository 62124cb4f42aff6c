import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectEventStore } from '#event-store';
import { systemClock, systemRandom, systemTimers } from '#kernel';
import { startEventStore } from '../../apps/eventstore/server.js';
import type { ChildProcess } from 'node:child_process';
import type { ConnectedEventStore, EventStoreDbOptions } from '#event-store';

/** A client as the control plane makes it. */
export const connect = (
  connectionString: string,
  options: Partial<Omit<EventStoreDbOptions, 'connectionString'>> = {},
): ConnectedEventStore =>
  connectEventStore({
    connectionString,
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    ...options,
  });

export const plainUrl = (port: number): string => `esdb://127.0.0.1:${port}?tls=false`;

export interface ServerInProcess {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

/** An embedded server in this process, on a file of its own. */
export const startServer = async (options: { port?: number } = {}): Promise<ServerInProcess> => {
  const folder = await mkdtemp(join(tmpdir(), 'escalon-es-'));
  const server = await startEventStore({ file: join(folder, 'events.db'), ...options });
  return {
    port: server.port,
    url: plainUrl(server.port),
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
};

const MAIN = join(process.cwd(), 'dist', 'apps', 'eventstore', 'main.js');

/** An embedded server in a process of its own, which can be killed and started again on the same file and port. */
export class ServerProcess {
  private child: ChildProcess | undefined;
  private listening = 0;

  private constructor(private readonly folder: string) {}

  static async start(): Promise<ServerProcess> {
    const server = new ServerProcess(await mkdtemp(join(tmpdir(), 'escalon-es-')));
    await server.start();
    return server;
  }

  get url(): string {
    return plainUrl(this.listening);
  }

  get port(): number {
    return this.listening;
  }

  async start(): Promise<void> {
    if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: run "npm run build" first`);
    const file = join(this.folder, 'events.db');
    const child = spawn(process.execPath, [MAIN, '--file', file, '--port', String(this.listening)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.child = child;
    for await (const line of createInterface({ input: child.stdout })) {
      const said = JSON.parse(line) as { ready?: boolean; port?: number };
      if (said.ready && said.port) {
        this.listening = said.port;
        return;
      }
    }
    throw new Error('the event store ended before it was ready');
  }

  /** SIGKILL: no farewell to anybody. */
  async kill(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** Stands still, with its sockets open, until `wake`. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  wake(): void {
    this.child?.kill('SIGCONT');
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}
