import { EventStoreDBClient } from '@eventstore/db-client';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { CallOptions, ClientDuplexStream, ClientReadableStream, Metadata } from '@grpc/grpc-js';
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { EventStoreUnavailable } from '../port.js';
import { readAppendAnswer } from './append-answers.js';
import { Stalled } from './patience.js';
import type { AppendAnswer } from './append-answers.js';
import type { Health } from './health.js';

/** `close` was called: nothing is tried again. */
export class ConnectionClosed extends EventStoreUnavailable {
  constructor() {
    super('the event store is closed');
  }
}

const READ = '/event_store.client.streams.Streams/Read';
const BATCH_APPEND = '/event_store.client.streams.Streams/BatchAppend';
const serialized = (request: ReadReq): Buffer => Buffer.from(request.serializeBinary());
const asTheyCame = (bytes: Buffer): Buffer => bytes;

/** The calls of the Streams service on one channel. */
export interface Channel {
  /** Takes messages of `appendMessages`. */
  appends(): ClientDuplexStream<Buffer, AppendAnswer>;
  /** The answers as they came: `AnswerDecoder` reads them. */
  read(request: ReadReq): ClientReadableStream<Buffer>;
  /** Tells that a call failed, so that a lost or silent connection is made anew (to the leader, when the error names it). */
  failed(error: Error): void;
}

/**
 * A connection that makes itself anew. The client library does the connection string, cluster discovery, TLS,
 * credentials and the channel; the calls are made here on its generated stubs, because its own append, read and
 * subscription (6.2.1) keep one table of appends per process, throw on late answers, hang when a stream ends while it
 * waits for "drain", and cannot filter a read.
 */
export class Connection {
  private client: EventStoreDBClient | undefined;
  private streams: StreamsClient | undefined;
  private closed = false;

  constructor(
    private readonly connectionString: string,
    private readonly health: Health,
  ) {
    // A malformed string is the configuration's fault and fails the start.
    this.client = EventStoreDBClient.connectionString(connectionString);
  }

  async channel(): Promise<Channel> {
    if (this.closed) throw new ConnectionClosed();
    const client = (this.client ??= EventStoreDBClient.connectionString(this.connectionString));
    try {
      const streams = await client['execute'](streamsGrpc.StreamsClient, 'Streams', (made) => Promise.resolve(made));
      this.streams = streams;
      // Credentials and header, without a deadline: our own timers bound every wait.
      const callArguments = (): [Metadata, CallOptions] =>
        client['callArguments']({ requiresLeader: true }, { deadline: Infinity });
      return {
        appends: () => streams.makeBidiStreamRequest(BATCH_APPEND, asTheyCame, readAppendAnswer, ...callArguments()),
        read: (request) => streams.makeServerStreamRequest(READ, serialized, asTheyCame, request, ...callArguments()),
        failed: (error) => this.failed(client, streams, error),
      };
    } catch (error) {
      // The client keeps a failed discovery for ever; only a new client tries again.
      if (this.client === client) this.client = undefined;
      this.health.failed(error);
      throw error;
    }
  }

  answered(): void {
    this.health.answered();
  }

  close(): void {
    this.closed = true;
    this.client = undefined;
    this.streams?.close();
  }

  private failed(client: EventStoreDBClient, streams: StreamsClient, error: Error): void {
    // What an abandoned channel's calls still tell is no news.
    if (this.closed || this.client !== client) return;
    this.health.failed(error);
    if (error instanceof Stalled) return this.abandon(client, streams);
    client['handleError'](streams, error).catch(() => this.abandon(client, streams));
  }

  /** The next channel is a new client's, over a new socket. */
  private abandon(client: EventStoreDBClient, streams: StreamsClient): void {
    if (this.client !== client) return;
    this.client = undefined;
    streams.close();
  }
}

/**
 * The connection string of a second connection. Channels with equal settings share one TCP connection; a keep-alive
 * that differs by a millisecond gives reads one of their own, so that a large read does not hold appends up.
 */
export const forReads = (connectionString: string): string => {
  const given = /([?&]keepAliveInterval=)(\d+)/i.exec(connectionString);
  if (given) return connectionString.replace(given[0], `${given[1]}${Number(given[2]) + 1}`);
  const mark = connectionString.includes('?') ? '&' : connectionString.endsWith('/') ? '?' : '/?';
  return `${connectionString}${mark}keepAliveInterval=10001`;
};

/** The servers of a connection string without user name and password: for logs and messages. */
export const serverOf = (connectionString: string): string =>
  connectionString
    .replace(/^[^:]*:\/\//, '')
    .replace(/^[^@/?]*@/, '')
    .replace(/[/?].*$/, '');
