export { DurableSubscriber } from './durable-subscriber.js';
export type { DurableSubscriberOptions } from './durable-subscriber.js';
export { hookCommand } from './hook-command.js';
export { messageOf } from './message-of.js';
export type { Deliver, SubscriberObserver, SubscriberPositions, SubscriberStatus } from './ports.js';
export { readSubscriberFile } from './subscriber-file.js';
export type { ConfiguredSubscriber } from './subscriber-file.js';
export { webhook } from './webhook.js';
