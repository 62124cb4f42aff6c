export { CommandHandler, ContendedStream } from './command-handler.js';
export type { CommandContext, CommandHandlerOptions, Handled, StreamDecider, StreamEvent } from './command-handler.js';
export { connectEventStore } from './eventstoredb/store.js';
export type { ConnectedEventStore, EventStoreDbOptions } from './eventstoredb/store.js';
export type { ConnectionStatus, EventStoreLogger } from './eventstoredb/health.js';
export { MAX_APPEND_BYTES } from './limits.js';
export { randomFaults } from './memory/faults.js';
export type { AppendFault, DeliveryFault, FaultRates, MemoryFaults, ReadFault } from './memory/faults.js';
export { MemoryLog } from './memory/log.js';
export { MemoryEventStore } from './memory/store.js';
export type { MemoryEventStoreOptions } from './memory/store.js';
export { rawEvent } from './raw-event.js';
export { EventStoreUnavailable, EventTooLarge, START } from './port.js';
export type {
  AppendResult,
  EventFilter,
  EventMetadata,
  EventStore,
  ExpectedRevision,
  NewEvent,
  Position,
  RecordedEvent,
  Subscriber,
  Subscription,
} from './port.js';
