import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectEventStore } from '#event-store';
import { systemClock, systemRandom, systemTimers } from '#kernel';
import { startEventStore } from '../../apps/eventstore/server.js';
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

export interface ServerInProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** An embedded server in this process, on a file of its own. */
export const startServer = async (): Promise<ServerInProcess> => {
  const folder = await mkdtemp(join(tmpdir(), 'escalon-es-'));
  const server = await startEventStore({ file: join(folder, 'events.db') });
  return {
    url: `esdb://127.0.0.1:${server.port}?tls=false`,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
};
