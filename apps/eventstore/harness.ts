import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import type { JSONEventData, JSONEventType } from '@eventstore/db-client';
import { systemClock, systemTimers } from '#kernel';
import { startEventStore } from './server.js';
import type { EventStoreOptions, RunningEventStore } from './server.js';

/* What the specs of this folder share: servers in this process and in their own, clients, and ways to wait. */

/** A server with the official client connected to it, on a log of its own. */
export interface Bench {
  readonly store: RunningEventStore;
  readonly client: EventStoreDBClient;
  readonly file: string;
  /** Another client of the same server. */
  connect(): EventStoreDBClient;
  close(): Promise<void>;
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'eventstore-'));

export const connectTo = (port: number, query = ''): EventStoreDBClient =>
  EventStoreDBClient.connectionString(`esdb://127.0.0.1:${port}?tls=false${query}`);

/** Starts a server in this process. */
export const startBench = async (options: Partial<EventStoreOptions> = {}): Promise<Bench> => {
  const folder = temporaryFolder();
  const file = join(folder, 'events.db');
  const store = await startEventStore({ file, ...options });
  const clients: EventStoreDBClient[] = [];
  const connect = (): EventStoreDBClient => {
    const client = connectTo(store.port);
    clients.push(client);
    return client;
  };
  const close = async (): Promise<void> => {
    await Promise.all(clients.map((client) => client.dispose()));
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { store, client: connect(), file, connect, close };
};

export type TestEvent = JSONEventType<string, { readonly n: number }>;

let counter = 0;

/** A JSON event with an id of its own. */
export const event = (type = 'Happened', n = counter++): JSONEventData<TestEvent> => jsonEvent({ type, data: { n } });

export const events = (count: number, type?: string): JSONEventData<TestEvent>[] =>
  Array.from({ length: count }, () => event(type));

/** A stream name that no other test uses. */
export const freshStream = (prefix = 'job'): string => `${prefix}-${process.pid}-${counter++}`;

/** All items of a finite stream. */
export const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
};

/** The error that a promise rejects with. Fails when it resolves. */
export const errorOf = async (promise: Promise<unknown>): Promise<Record<string, unknown>> => {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error as Record<string, unknown>,
  );
  if (!outcome) throw new Error('expected a rejection');
  return outcome;
};

/** A promise that others resolve. */
export const signal = <Value = void>(): { promise: Promise<Value>; resolve: (value: Value) => void } => {
  const { promise, resolve } = Promise.withResolvers<Value>();
  return { promise, resolve };
};

/** Polls until the condition holds; for what happens in another process. Fails after `within` milliseconds. */
export const until = async (condition: () => boolean | Promise<boolean>, within = 30_000): Promise<void> => {
  const giveUp = systemClock.now() + within;
  while (!(await condition())) {
    if (systemClock.now() > giveUp) throw new Error(`the condition did not hold within ${within} ms`);
    await pause(10);
  }
};

const pause = (millis: number): Promise<void> => new Promise((resolve) => systemTimers.after(millis, resolve));

/** A server in a process of its own. */
export interface ServerProcess {
  readonly child: ChildProcess;
  readonly port: number;
  /** The one line it printed to stdout. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Sends a signal and waits for the exit; null when the signal ended it. */
  kill(how: NodeJS.Signals): Promise<number | null>;
}

const MAIN = join(import.meta.dirname, '../../dist/apps/eventstore/main.js');

const launch = (args: readonly string[], stdin: 'ignore' | 'pipe'): ChildProcess => {
  if (!existsSync(MAIN)) throw new Error('dist/ is missing: run `npm run build` first');
  return spawn(process.execPath, [MAIN, ...args], { stdio: [stdin, 'pipe', 'pipe'] });
};

export const spawnServer = async (
  args: readonly string[],
  stdin: 'ignore' | 'pipe' = 'ignore',
): Promise<ServerProcess> => {
  const child = launch(args, stdin);
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let complaint = '';
  child.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  const line = await Promise.race([
    new Promise<string>((resolve) => child.stdout && createInterface(child.stdout).once('line', resolve)),
    exited.then((code) => Promise.reject(new Error(`the server ended with ${code}: ${complaint}`))),
  ]);
  const ready = JSON.parse(line) as Record<string, unknown>;
  const kill = (how: NodeJS.Signals): Promise<number | null> => {
    child.kill(how);
    return exited;
  };
  return { child, port: ready['port'] as number, ready, kill };
};

/** Runs the server where it must not start. */
export const runToEnd = async (
  args: readonly string[],
): Promise<{ code: number | null; stdout: string; stderr: string }> => {
  const child = launch(args, 'ignore');
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
};
