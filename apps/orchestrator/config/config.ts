import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { LogLimits } from '#artifacts';
import { formatBytes, parseBytes } from '#contracts';
import { readSubscriberFile } from '#subscribers';
import type { ConfiguredSubscriber } from '#subscribers';

export type OrchestratorRole = 'api' | 'scheduler' | 'projector';

const ROLES: readonly OrchestratorRole[] = ['api', 'scheduler', 'projector'];
const KIB = 1024;
const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error', 'silent'];

/**
 * A worker here is a coroutine: it waits for the stores nearly all of the time, so that one for each core would leave the cores
 * idle.
 */
const WORKERS_PER_CORE = 32;

/** Everything that the process is told from outside, checked once at the start. */
export interface Config {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly esdbUrl: string;
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly secret: string;
  readonly roles: readonly OrchestratorRole[];
  /** False lets every process schedule at once: safe, but it costs conflicts. */
  readonly schedulerLock: boolean;
  readonly logLevel: string;
  /** Seconds. */
  readonly offlineAfter: number;
  readonly lostAfter: number;
  readonly runGrace: number;
  /** Seconds of waiting that are worth a point of priority; 0 for none, so that urgent work may starve the rest. */
  readonly aging: number;
  /** Seconds from one look at all that waits, or should be over, to the next. */
  readonly sweepInterval: number;
  /** Evaluations under way at once. */
  readonly workers: number;
  /** False: what fails is not tried again, whatever its job asks for. */
  readonly retries: boolean;
  /** Events from one snapshot of the cluster to the next; 0 for none. */
  readonly snapshotEvery: number;
  /** What is kept of each output stream of a task. */
  readonly logs: LogLimits;
  /** Who is told of events as they happen. */
  readonly subscribers: readonly ConfiguredSubscriber[];
}

/** Seconds between the heartbeats of a node: it is silent only when it has missed several, however soon it counts as such. */
export const heartbeatInterval = ({ offlineAfter }: Pick<Config, 'offlineAfter'>): number =>
  Math.min(5, offlineAfter / 3);

/** A start that was stopped: every wrong value by name. */
export class ConfigInvalid extends Error {
  override readonly name = 'ConfigInvalid';
  constructor(readonly mistakes: readonly string[]) {
    super(
      `the configuration has ${mistakes.length === 1 ? 'a mistake' : `${String(mistakes.length)} mistakes`}: ${mistakes.join('; ')}`,
    );
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the environment. Throws `ConfigInvalid` with every mistake. */
export const readConfig = (env: Environment): Config => {
  const mistakes: string[] = [];
  const reader = readerOf(env, mistakes);
  const config: Config = {
    host: reader.text('HOST', '127.0.0.1'),
    port: reader.whole('PORT', 8080, 0, 65_535),
    esdbUrl: reader.url('ESDB_URL', ['esdb:', 'esdb+discover:', 'kurrentdb:', 'kurrentdb+discover:']),
    databaseUrl: reader.url('DATABASE_URL', ['postgres:', 'postgresql:']),
    dataDir: resolve(reader.text('ESCALON_DATA', '.escalon')),
    secret: reader.secret(),
    roles: reader.roles(),
    schedulerLock: reader.choice('ESCALON_SCHEDULER_LOCK', 'on', ['on', 'off']) === 'on',
    logLevel: reader.choice('LOG_LEVEL', 'info', LEVELS),
    offlineAfter: reader.number('ESCALON_OFFLINE_AFTER', 15, 0.1, 86_400),
    lostAfter: reader.number('ESCALON_LOST_AFTER', 60, 0, 86_400),
    retries: reader.choice('ESCALON_RETRIES', 'on', ['on', 'off']) === 'on',
    runGrace: reader.number('ESCALON_RUN_GRACE', 30, 0, 86_400),
    aging: reader.number('ESCALON_AGING', 1_800, 0, 31_536_000),
    sweepInterval: reader.number('ESCALON_SWEEP_INTERVAL', 300, 1, 86_400),
    workers: reader.whole('ESCALON_WORKERS', WORKERS_PER_CORE * availableParallelism(), 1, 10_000),
    snapshotEvery: reader.whole('ESCALON_SNAPSHOT_EVERY', 50_000, 0, 1_000_000_000),
    logs: logLimitsOf(sizesOf(env, mistakes), mistakes),
    subscribers: subscribersOf(env, mistakes),
  };
  if (mistakes.length > 0) throw new ConfigInvalid(mistakes);
  return config;
};

/** What an agent sends at once. */
const LEAST_CHUNK = 64 * KIB;
/** A chunk must fit into the newest part, which is a half, while the oldest of that goes. */
const CHUNKS = 4;

const logLimitsOf = (sizeOf: ReturnType<typeof sizesOf>, mistakes: string[]): LogLimits => {
  const chunk = sizeOf('ESCALON_LOG_CHUNK_LIMIT', KIB * KIB, LEAST_CHUNK);
  const stream = sizeOf('ESCALON_LOG_LIMIT', 64 * KIB * KIB, CHUNKS * LEAST_CHUNK);
  if (stream < CHUNKS * chunk) {
    mistakes.push(
      `ESCALON_LOG_LIMIT must be at least four times ESCALON_LOG_CHUNK_LIMIT, ${formatBytes(CHUNKS * chunk)}`,
    );
  }
  return { stream, chunk };
};

const readerOf = (env: Environment, mistakes: string[]) => {
  const text = (name: string, fallback: string): string => env[name] ?? fallback;
  const number = (name: string, fallback: number, least: number, most: number): number => {
    const value = env[name] === undefined || env[name] === '' ? fallback : Number(env[name]);
    if (value >= least && value <= most) return value;
    mistakes.push(
      `${name} must be a number from ${String(least)} to ${String(most)}, not ${JSON.stringify(env[name])}`,
    );
    return fallback;
  };
  const whole = (name: string, fallback: number, least: number, most: number): number => {
    const value = number(name, fallback, least, most);
    if (Number.isInteger(value)) return value;
    mistakes.push(`${name} must be a whole number, not ${JSON.stringify(env[name])}`);
    return fallback;
  };
  const choice = (name: string, fallback: string, allowed: readonly string[]): string => {
    const value = text(name, fallback);
    if (!allowed.includes(value))
      mistakes.push(`${name} must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`);
    return value;
  };
  const url = (name: string, protocols: readonly string[]): string => {
    const value = env[name];
    if (value === undefined || value === '') mistakes.push(`${name} is not set (${String(protocols[0])}//…)`);
    else if (!protocols.some((protocol) => value.startsWith(`${protocol}//`))) {
      mistakes.push(`${name} must start with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value ?? '';
  };
  const roles = (): readonly OrchestratorRole[] => {
    const named = text('ESCALON_ROLES', ROLES.join(','))
      .split(',')
      .map((name) => name.trim());
    const unknown = named.filter((name) => !ROLES.includes(name as OrchestratorRole));
    if (unknown.length > 0) mistakes.push(`ESCALON_ROLES names ${unknown.join(', ')}; there are ${ROLES.join(', ')}`);
    return named as OrchestratorRole[];
  };
  return { text, number, whole, choice, url, roles, secret: () => secretOf(env, mistakes) };
};

const sizesOf =
  (env: Environment, mistakes: string[]) =>
  (name: string, fallback: number, least: number): number => {
    const given = env[name];
    if (given === undefined || given === '') return fallback;
    const parsed = parseBytes(given);
    if (parsed.ok && parsed.value >= least) return parsed.value;
    mistakes.push(`${name} must be a size of at least ${formatBytes(least)}, not ${JSON.stringify(given)}`);
    return fallback;
  };

const subscribersOf = (env: Environment, mistakes: string[]): readonly ConfiguredSubscriber[] => {
  const file = env.ESCALON_SUBSCRIBERS_FILE;
  if (file === undefined || file === '') return [];
  const read = readSubscriberFile(file);
  if (read.ok) return read.subscribers;
  mistakes.push(...read.mistakes.map((mistake) => `ESCALON_SUBSCRIBERS_FILE: ${mistake}`));
  return [];
};

const secretOf = (env: Environment, mistakes: string[]): string => {
  const file = env.ESCALON_SECRET_FILE;
  if (file !== undefined && !existsSync(file)) mistakes.push(`ESCALON_SECRET_FILE names ${file}, which is not there`);
  const secret =
    file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').trim() : (env.ESCALON_SECRET ?? '');
  if (secret.length < 32)
    mistakes.push('ESCALON_SECRET or the file ESCALON_SECRET_FILE must hold at least 32 characters');
  return secret;
};
