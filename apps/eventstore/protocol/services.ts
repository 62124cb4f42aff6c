import { Server } from '@grpc/grpc-js';
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { handleAppend } from './append.js';
import { handleBatchAppend } from './batch-append.js';
import type { ServiceContext } from './context.js';
import { handleDelete, handleTombstone } from './delete.js';
import { handleGossip, handleSupportedMethods } from './features.js';
import { manyMessages } from './many-messages.js';
import { handleRead } from './read.js';
import { decodeAppend, decodeBatchAppend, decodeDelete } from './requests.js';

/** EventStoreDB's own limit for a record, 16 MiB, and room for what is around it. */
const MAX_MESSAGE_SIZE = 17 * 1024 * 1024;

const raw = (bytes: Buffer): Buffer => bytes;

/** The client's service definition, with the hand-made codecs in place of the generated ones where they matter. */
const streamsDefinition = {
  read: { ...StreamsService.read, responseSerialize: raw },
  append: { ...StreamsService.append, requestDeserialize: decodeAppend },
  batchAppend: { ...StreamsService.batchAppend, requestDeserialize: decodeBatchAppend, responseSerialize: raw },
  delete: { ...StreamsService.delete, requestDeserialize: decodeDelete },
  tombstone: { ...StreamsService.tombstone, requestDeserialize: decodeDelete },
};

/** A gRPC server with all services; it does not listen yet. Calls to any other service answer UNIMPLEMENTED. */
export const createServer = (
  context: ServiceContext,
  address: () => { readonly host: string; readonly port: number },
): Server => {
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_SIZE,
    'grpc.max_send_message_length': -1,
    interceptors: [manyMessages],
  });
  add(server, streamsDefinition, {
    read: handleRead(context),
    append: handleAppend(context),
    batchAppend: handleBatchAppend(context),
    delete: handleDelete(context),
    tombstone: handleTombstone(context),
  });
  add(server, ServerFeaturesService, { getSupportedMethods: handleSupportedMethods });
  add(server, GossipService, { read: handleGossip(context, address) });
  return server;
};

/** grpc-js types its handlers by the generated message classes, which the codecs above replace. */
const add = (server: Server, definition: object, handlers: object): void =>
  server.addService(definition as ServiceDefinition, handlers as UntypedServiceImplementation);
