import { Metadata, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import type { ExpectedRevision } from '../log/append-rules.js';

/** The numbers that stand for the kinds of expectation in error trailers. */
const EXPECTED_NUMBERS = { any: -2n, 'no-stream': -1n, 'stream-exists': -4n } as const;

const expectedNumber = (expected: ExpectedRevision): bigint =>
  expected.kind === 'exact' ? expected.revision : EXPECTED_NUMBERS[expected.kind];

/** An error status with EventStoreDB's trailers: clients read `exception` and the keys that go with it. */
const serviceError = (code: status, details: string, trailers: Readonly<Record<string, string>> = {}): ServiceError => {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, headerSafe(value));
  return Object.assign(new Error(details), { code, details, metadata });
};

/** Trailers take printable ASCII only; stream names may be anything. */
const headerSafe = (value: string): string => (/^[\x20-\x7e]*$/.test(value) ? value : encodeURIComponent(value));

export const accessDenied = (): ServiceError =>
  serviceError(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });

export const badCredentials = (): ServiceError =>
  serviceError(status.UNAUTHENTICATED, 'The user name or password is wrong');

export const streamDeleted = (stream: string): ServiceError =>
  serviceError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });

export const wrongExpectedVersion = (
  operation: string,
  stream: string,
  expected: ExpectedRevision,
  current: number,
): ServiceError =>
  serviceError(
    status.FAILED_PRECONDITION,
    `${operation} failed due to WrongExpectedVersion. Stream: ${stream}, ` +
      `Expected version: ${expectedNumber(expected)}, Actual version: ${current}`,
    {
      exception: 'wrong-expected-version',
      'stream-name': stream,
      'expected-version': String(expectedNumber(expected)),
      'actual-version': String(current),
    },
  );

export const appendTooLarge = (limit: number): ServiceError =>
  serviceError(status.INVALID_ARGUMENT, `Maximum Append Size of ${limit} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(limit),
  });

export const missingProperty = (details: string): ServiceError =>
  serviceError(status.INVALID_ARGUMENT, details, {
    exception: 'missing-required-metadata-property',
    'required-metadata-properties': 'type,content-type',
  });

export const invalidArgument = (details: string): ServiceError => serviceError(status.INVALID_ARGUMENT, details);

export const timedOut = (): ServiceError => serviceError(status.ABORTED, 'Operation timed out');

export const shuttingDown = (): ServiceError => serviceError(status.UNAVAILABLE, 'Server Is Shutting Down');

/** A fault of this server; its cause goes to the log, not to the caller. */
export const internalError = (): ServiceError => serviceError(status.INTERNAL, 'The event store failed; see its log');
