import { readFileSync } from 'node:fs';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Server } from '@grpc/grpc-js';
import { systemClock, systemIds, systemTimers } from '#kernel';
import type { Clock, Ids, Timers } from '#kernel';
import { Authenticator, DEFAULT_USERS } from './access/users.js';
import type { User } from './access/users.js';
import { EventLog } from './log/event-log.js';
import type { Logger, OpenCall, ServiceContext } from './protocol/context.js';
import { createServer } from './protocol/services.js';
import { LiveFeed } from './subscriptions/live-feed.js';

/** How to run an event store. Only `file` must be given. */
export interface EventStoreOptions {
  /** The log; created with its folder if it is missing. One process at a time may have it open. */
  readonly file: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 (the default) takes a free one. */
  readonly port?: number;
  /** PEM files; both or neither. With them the server speaks TLS and demands credentials. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /**
   * Accounts. Giving any turns authentication on; with TLS and none given it is on with EventStoreDB's own
   * (`admin` and `ops`, password `changeit`). Without both, everyone may do everything, as with `--insecure`.
   */
  readonly users?: readonly User[];
  /** Treat a caller without credentials as one of everyone, as releases before 23.10 do. Default false. */
  readonly allowAnonymous?: boolean;
  /** Bytes of event data in one append. Default 1 MiB. */
  readonly maxAppendSize?: number;
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly ids?: Ids;
}

/** A running event store. */
export interface RunningEventStore {
  readonly host: string;
  readonly port: number;
  /** Commits what is queued, ends open calls with `UNAVAILABLE`, closes the log. Calling it again waits for the same. */
  stop(): Promise<void>;
}

/** The server cannot listen. The message names the address and says why in one line. */
class ListenError extends Error {
  override readonly name = 'ListenError';
}

const MAX_APPEND_SIZE = 1024 * 1024;
/** Calls that are being answered get this long to leave before their connections are cut. */
const GRACE_MS = 2_000;

const silent: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * Opens the log and serves it.
 *
 * @throws LogFileError when the file cannot be used; ListenError when the port is taken; Error for unreadable PEM files.
 */
export const startEventStore = async (options: EventStoreOptions): Promise<RunningEventStore> => {
  const { host = '127.0.0.1', port = 0, clock = systemClock, timers = systemTimers, ids = systemIds } = options;
  const credentials = credentialsOf(options);
  const log = EventLog.open(options.file, { clock, timers, ids });
  const feed = new LiveFeed();
  log.onCommit((events) => feed.publish(events));
  const openCalls = new Set<OpenCall>();
  const context: ServiceContext = {
    log,
    feed,
    clock,
    timers,
    ids,
    logger: options.logger ?? silent,
    authenticator: authenticatorOf(options),
    anonymousAllowed: options.allowAnonymous ?? false,
    maxAppendSize: options.maxAppendSize ?? MAX_APPEND_SIZE,
    openCalls,
  };
  const address = { host, port };
  const server = createServer(context, () => address);
  address.port = await listen(server, address, credentials).catch(async (error: unknown) => {
    await log.close();
    throw error;
  });
  let stopped: Promise<void> | undefined;
  return { ...address, stop: () => (stopped ??= stop(server, context)) };
};

const credentialsOf = ({ tls }: EventStoreOptions): ServerCredentials =>
  tls
    ? ServerCredentials.createSsl(null, [
        { cert_chain: readFileSync(tls.certFile), private_key: readFileSync(tls.keyFile) },
      ])
    : ServerCredentials.createInsecure();

const authenticatorOf = ({ tls, users, logger }: EventStoreOptions): Authenticator | undefined => {
  if (users) return new Authenticator(users);
  if (!tls) return undefined;
  logger?.warn('no users are given: accounts admin and ops have their well-known passwords');
  return new Authenticator(DEFAULT_USERS);
};

const listen = (
  server: Server,
  { host, port }: { host: string; port: number },
  credentials: ServerCredentials,
): Promise<number> => {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(target, credentials, (error, bound) => {
      if (error) reject(new ListenError(`cannot listen on ${target}: ${reasonOf(error)}`, { cause: error }));
      else resolve(bound);
    });
  });
};

const reasonOf = (error: Error): string =>
  error.message.includes('EADDRINUSE') ? 'the port is in use by another process' : error.message;

/** First everything queued is committed and answered, then open calls end, then connections, then the file. */
const stop = async (server: Server, { log, openCalls, timers }: ServiceContext): Promise<void> => {
  await log.drained();
  for (const call of [...openCalls]) call.close();
  await new Promise<void>((resolve) => {
    const grace = timers.after(GRACE_MS, () => server.forceShutdown());
    server.tryShutdown(() => {
      grace.cancel();
      resolve();
    });
  });
  await log.close();
};
