import { rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { requirePort } from '#platform/postgres';
import { openDataFolder } from './data-folder.js';
import { ensureFirstProject } from './first-project.js';
import { lockDataFolder } from './lock.js';
import { controlPlane, embeddedEventStore, embeddedPostgres, localAgent } from './services.js';
import { Supervisor } from './supervisor.js';
import { ensureSecret, writeLocalTokens } from './tokens.js';
import type { Clock, Timers } from '#kernel';
import type { DataFolder } from './data-folder.js';
import type { Lock } from './lock.js';
import type { AddressedService, ServicePorts } from './services.js';

export interface UpOptions {
  readonly data: string;
  /** Port of the API on 127.0.0.1; 0 takes a free one. */
  readonly port: number;
  readonly agent: boolean;
  /** The node's name; from the host's when absent. */
  readonly node?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
  readonly clock: Clock;
  readonly timers: Timers;
  /** The folder of the built apps; where this program's own build lies when absent. */
  readonly apps?: string;
}

/** A system that runs. */
export interface System {
  readonly url: string;
  /** The operator's token. */
  readonly token: string;
  readonly folder: DataFolder;
  stop(): Promise<void>;
}

/**
 * Brings the whole system up on one machine, or resumes it: event store and Postgres (unless `ESDB_URL` and `DATABASE_URL`
 * name others), control plane, agent. Resolves when all answer. When a part cannot come up, or `signal` is aborted, what
 * already runs is stopped and the reason thrown.
 */
export const bringUp = async (options: UpOptions, signal: AbortSignal): Promise<System> => {
  const folder = await openDataFolder(options.data);
  const lock = await lockDataFolder(folder);
  const supervisor = new Supervisor(options);
  const stop = (): Promise<void> => takeDown(supervisor, folder, lock);
  const abort = (): void => void supervisor.stop();
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    // After the lock: a second start on the same folder is told of the first one, not of the port that it holds.
    if (options.port !== 0) await requirePort(options.port);
    const system = await startAll(options, folder, supervisor, signal);
    return { ...system, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
};

const startAll = async (
  options: UpOptions,
  folder: DataFolder,
  supervisor: Supervisor,
  signal: AbortSignal,
): Promise<Pick<System, 'url' | 'token'>> => {
  const token = await writeLocalTokens(folder, await ensureSecret(folder));
  // Built, this file is dist/apps/cli/up/system.js.
  const apps = options.apps ?? join(import.meta.dirname, '..', '..');
  const ports: ServicePorts = { folder, env: options.env, timers: options.timers, apps };
  const [eventStore, database] = await Promise.all([
    startUnlessGiven(options.env.ESDB_URL, 'event store', embeddedEventStore(ports), options, supervisor),
    startUnlessGiven(options.env.DATABASE_URL, 'postgres', embeddedPostgres(ports), options, supervisor),
  ]);
  const api = controlPlane(ports, options.port, eventStore, database);
  await supervisor.start(api);
  await ensureFirstProject(api.address(), token, options.timers, signal);
  await writeFile(folder.url, `${api.address()}\n`, { mode: 0o600 });
  const node = options.node ?? nodeNameOf(hostname());
  if (options.agent) await supervisor.start(localAgent(ports, node, api.address));
  return { url: api.address(), token };
};

/** A server of one's own is used as it is, and neither started nor stopped. */
const startUnlessGiven = async (
  given: string | undefined,
  name: string,
  service: AddressedService,
  options: UpOptions,
  supervisor: Supervisor,
): Promise<() => string> => {
  if (given) {
    options.say(`${name.padEnd(13)} the one the environment names`);
    return () => given;
  }
  await supervisor.start(service);
  return service.address;
};

const takeDown = async (supervisor: Supervisor, folder: DataFolder, lock: Lock): Promise<void> => {
  await supervisor.stop();
  await rm(folder.url, { force: true });
  await lock.release();
};

const MAX_NODE_NAME = 63;

/** A node's id from a host's name: lower-case letters, digits and dashes. */
export const nodeNameOf = (host: string): string =>
  host
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NODE_NAME)
    .replaceAll(/^-+|-+$/g, '') || 'node';
