import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve as resolvePath } from 'node:path';
import pg from 'pg';
import { systemTimers } from '#kernel';
import { findBinaries } from './binaries.js';
import { ACCOUNT, DATABASE, openCluster } from './cluster.js';
import { EmbeddedPostgresUnavailable } from './faults.js';
import { commandAs, findIdentity } from './identity.js';
import { freePort, requirePort } from './ports.js';
import { isRunning, livingPostmaster, readPostmaster } from './postmaster.js';
import type { Millis, Timers } from '#kernel';
import type { Cluster } from './cluster.js';
import type { Identity } from './identity.js';

export interface EmbeddedPostgresOptions {
  /** The folder for cluster and password, made with mode 0700. Its path may contain spaces. */
  readonly dataDir: string;
  /** Port on 127.0.0.1; 0 (default) takes a free one. A living server keeps the port it has. */
  readonly port?: number;
  /** What the server says is appended here. */
  readonly logFile: string;
  /** Answers commits before they are on disk and never syncs: for tests only, where the data is thrown away. */
  readonly unsafe?: boolean;
  readonly timers?: Timers;
}

export interface EmbeddedPostgres {
  /** `postgres://…` with the password in it: not for logs. */
  readonly url: string;
  readonly pid: number;
  readonly port: number;
  /** A living server of this folder, left by an earlier launcher, was taken over. */
  readonly adopted: boolean;
  readonly runsAs: Identity['kind'];
  /** Resolves when the server has ended, whoever ended it. */
  readonly exited: Promise<void>;
  /** Fast shutdown: sessions are cut, everything committed is kept. Resolves when the process is gone. */
  stop(): Promise<void>;
}

const POLL: Millis = 20;
const START_TIMEOUT: Millis = 60_000;
const STOP_TIMEOUT: Millis = 30_000;

/**
 * Starts the packaged Postgres on `dataDir`, or takes over the one that already serves it. The server outlives a
 * launcher that is killed, and is not touched by a Ctrl-C meant for the launcher: only `stop` ends it.
 *
 * Throws `EmbeddedPostgresUnavailable` when it cannot run on this machine, `PortTaken` when a given port is in use.
 */
export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const dataDir = resolvePath(options.dataDir);
  const timers = options.timers ?? systemTimers;
  const [binaries, identity] = await Promise.all([findBinaries(), findIdentity()]);
  const cluster = await openCluster(dataDir, binaries, identity);
  const launch: Launch = { ...options, cluster, identity, timers, program: binaries.postgres };
  const server = await obtainServer(launch);
  const url = urlOf(server.port, cluster.password);
  await ensureDatabase(server.port, cluster.password);
  return {
    url,
    pid: server.pid,
    port: server.port,
    adopted: server.adopted,
    runsAs: identity.kind,
    exited: server.exited,
    stop: () => stopServer(server, timers),
  };
};

interface Server {
  readonly pid: number;
  readonly port: number;
  readonly adopted: boolean;
  readonly exited: Promise<void>;
}

interface Launch extends EmbeddedPostgresOptions {
  readonly cluster: Cluster;
  readonly identity: Identity;
  readonly timers: Timers;
  readonly program: string;
}

/** A server that is ready; one that is still starting or stopping is waited for. */
const settledPostmaster = async (directory: string, timers: Timers): Promise<Server | undefined> => {
  for (let waited = 0; waited < START_TIMEOUT; waited += POLL) {
    const postmaster = await livingPostmaster(directory);
    if (!postmaster) return undefined;
    if (postmaster.ready) {
      const { pid, port } = postmaster;
      return { pid, port, adopted: true, exited: goneWithoutUs(pid, timers) };
    }
    await pause(POLL, timers);
  }
  throw new EmbeddedPostgresUnavailable(`the server that holds ${directory} neither starts nor stops`);
};

/**
 * Tries again what passes by itself: a free port taken between the look and the use, a killed server's children that
 * still hold its memory, another launcher that is starting the same server.
 */
const obtainServer = async (launch: Launch): Promise<Server> => {
  for (let attempt = 1; ; attempt += 1) {
    const living = await settledPostmaster(launch.cluster.directory, launch.timers);
    if (living) return living;
    if (launch.port) await requirePort(launch.port);
    try {
      return await spawnServer(launch, launch.port || (await freePort()));
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !PASSING.test(String(error))) throw error;
      await pause(attempt * 100, launch.timers);
    }
  }
};

const MAX_ATTEMPTS = 10;
const PASSING = /could not bind|could not create any TCP|shared memory block|lock file/;

const spawnServer = async (launch: Launch, port: number): Promise<Server> => {
  const { cluster, identity, timers, logFile, program } = launch;
  const { file, args, owner } = commandAs(identity, program, ['-D', cluster.directory, ...settings(launch, port)]);
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(file, args, { ...owner, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const life = { ended: false };
  const exited = new Promise<void>((resolve) => {
    for (const end of ['exit', 'error']) child.once(end, () => resolve());
  }).then(() => void (life.ended = true));
  child.unref();
  for (let waited = 0; !life.ended && waited < START_TIMEOUT; waited += POLL) {
    const postmaster = await readPostmaster(cluster.directory);
    if (postmaster?.ready && postmaster.pid === child.pid) return { pid: postmaster.pid, port, adopted: false, exited };
    await pause(POLL, timers);
  }
  if (!life.ended) child.kill('SIGQUIT');
  const said = (await readFile(logFile, 'utf8').catch(() => '')).trim().split('\n').slice(-5).join(' | ');
  throw new EmbeddedPostgresUnavailable(`the server ${life.ended ? 'ended at once' : 'did not get ready'}: ${said}`);
};

/**
 * Given on the command line, so that a newer version of Escalon can change them on old data. Durable; sized for a
 * machine that runs everything else as well. No sockets but the one on the loopback.
 */
const settings = (launch: Launch, port: number): string[] => {
  const durability = launch.unsafe ? 'off' : 'on';
  const values = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port,
    max_connections: 100,
    fsync: durability,
    synchronous_commit: durability,
    full_page_writes: durability,
    wal_compression: 'on',
    shared_buffers: '128MB',
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    max_parallel_workers_per_gather: 0,
    random_page_cost: 1.1,
    jit: 'off',
    password_encryption: 'scram-sha-256',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_min_messages: 'warning',
    log_line_prefix: '%m [%p] ',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
};

const ensureDatabase = async (port: number, password: string): Promise<void> => {
  const client = new pg.Client({ connectionString: urlOf(port, password, 'postgres') });
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } catch (error) {
    if ((error as { code?: string }).code !== DUPLICATE_DATABASE) throw error;
  } finally {
    await client.end();
  }
};

const DUPLICATE_DATABASE = '42P04';

const urlOf = (port: number, password: string, database = DATABASE): string =>
  `postgres://${ACCOUNT}:${password}@127.0.0.1:${port}/${database}`;

/** SIGINT is Postgres' fast shutdown; one that hangs gets the immediate one, after which it recovers from its log. */
const stopServer = async (server: Server, timers: Timers): Promise<void> => {
  signal(server.pid, 'SIGINT');
  const timer = timers.after(STOP_TIMEOUT, () => signal(server.pid, 'SIGQUIT'));
  await server.exited;
  timer.cancel();
};

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/** The end of a process that is not our child can only be watched for. */
const goneWithoutUs = (pid: number, timers: Timers): Promise<void> =>
  new Promise((resolve) => {
    const look = timers.every(100, () => {
      if (isRunning(pid)) return;
      look.cancel();
      resolve();
    });
  });

const pause = (span: Millis, timers: Timers): Promise<void> =>
  new Promise((resolve) => void timers.after(span, resolve));
