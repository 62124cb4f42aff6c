import { status } from '@grpc/grpc-js';
import type { Metadata } from '@grpc/grpc-js';
import type { Clock, Ids, Timers } from '#kernel';
import { mayAccess } from '../access/permissions.js';
import type { Caller, Operation } from '../access/permissions.js';
import type { Authenticator } from '../access/users.js';
import type { EventLog } from '../log/event-log.js';
import type { LiveFeed } from '../subscriptions/live-feed.js';
import { accessDenied, badCredentials } from './errors.js';

/** Writes one structured line to the server's own log. */
export interface Logger {
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

/** A call that stays open, so that the server can end it when it stops. */
export interface OpenCall {
  /** Ends it with `UNAVAILABLE`. */
  close(): void;
}

/** What every service works with. */
export interface ServiceContext {
  readonly log: EventLog;
  readonly feed: LiveFeed;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Absent when the server trusts everyone. */
  readonly authenticator: Authenticator | undefined;
  readonly anonymousAllowed: boolean;
  /** Bytes of event data in one append; also of its custom metadata and types. */
  readonly maxAppendSize: number;
  readonly openCalls: Set<OpenCall>;
}

/** @throws ServiceError `UNAUTHENTICATED` when credentials are given and wrong. */
export const callerOf = ({ authenticator }: ServiceContext, metadata: Metadata): Caller => {
  if (!authenticator) return 'trusted';
  const [header] = metadata.get('authorization');
  if (header === undefined) return 'anonymous';
  const account = authenticator.check(String(header));
  if (!account) throw badCredentials();
  return account;
};

export const isAllowed = (context: ServiceContext, caller: Caller, operation: Operation, stream: string): boolean =>
  mayAccess(caller, operation, stream, context.log, context.anonymousAllowed);

/** @throws ServiceError `PERMISSION_DENIED` with `access-denied`. */
export const authorise = (context: ServiceContext, metadata: Metadata, operation: Operation, stream: string): void => {
  if (!isAllowed(context, callerOf(context, metadata), operation, stream)) throw accessDenied();
};

/** True for an error that was made for the caller; anything else is a fault. */
export const isForCaller = (error: unknown): boolean =>
  error instanceof Error &&
  typeof (error as { code?: unknown }).code === 'number' &&
  'metadata' in error &&
  (error as unknown as { code: status }).code in status;
