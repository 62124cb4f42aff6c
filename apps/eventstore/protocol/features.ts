import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { ServiceContext } from './context.js';

type SupportedMethods = InstanceType<typeof features.SupportedMethods>;
type ClusterInfo = InstanceType<typeof gossip.ClusterInfo>;

/** The release of EventStoreDB whose protocol and behaviour this server follows. */
const PROTOCOL_VERSION = '23.10.0';

const STREAMS = 'event_store.client.streams.streams';
const METHODS: readonly (readonly [service: string, method: string, ...features: string[]])[] = [
  [STREAMS, 'read', 'position', 'events'],
  [STREAMS, 'append'],
  [STREAMS, 'delete'],
  [STREAMS, 'tombstone'],
  [STREAMS, 'batchappend', 'deadline_duration'],
  ['event_store.client.gossip.gossip', 'read'],
  ['event_store.client.server_features.serverfeatures', 'getsupportedmethods'],
];

/** `ServerFeatures.GetSupportedMethods`: clients use BatchAppend only if it is listed here. */
export const handleSupportedMethods = (_call: unknown, callback: sendUnaryData<SupportedMethods>): void => {
  const methods = METHODS.map(([service, method, ...list]) =>
    new features.SupportedMethod().setServiceName(service).setMethodName(method).setFeaturesList(list),
  );
  callback(null, new features.SupportedMethods().setMethodsList(methods).setEventStoreServerVersion(PROTOCOL_VERSION));
};

/**
 * `Gossip.Read`: a cluster of one, which leads. Its address is the one under which the caller reached this server, so
 * that discovery works under any name; `fallback` stands in when the caller named none.
 */
export const handleGossip = (
  { clock, ids }: ServiceContext,
  fallback: () => { readonly host: string; readonly port: number },
): ((call: ServerUnaryCall<unknown, ClusterInfo>, callback: sendUnaryData<ClusterInfo>) => void) => {
  const instance = ids.next();
  return (call, callback) => {
    const { host, port } = parseAuthority(call.getHost()) ?? fallback();
    const member = new gossip.MemberInfo()
      .setInstanceId(new shared.UUID().setString(instance))
      .setTimeStamp(`${clock.now()}0000`)
      .setState(gossip.MemberInfo.VNodeState.LEADER)
      .setIsAlive(true)
      .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port));
    callback(null, new gossip.ClusterInfo().setMembersList([member]));
  };
};

const parseAuthority = (authority: string): { host: string; port: number } | undefined => {
  const [, host, port] = /^(.+):(\d+)$/.exec(authority) ?? [];
  return host === undefined || port === undefined ? undefined : { host, port: Number(port) };
};
