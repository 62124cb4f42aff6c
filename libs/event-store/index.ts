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
