export { currentVersion, EVENT_TYPES, isEventType } from './registry.js';
export type { EventType } from './registry.js';
export { eventSchema, validateEvent } from './schemas.js';
export type { JsonSchema } from './schemas.js';
export { NewerEventVersion, upcast, upcaster, upcastRecorded } from './upcast.js';
export type { Upcast, UpcastStep, UpcastSteps } from './upcast.js';
