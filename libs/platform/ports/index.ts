export { CLOCK, EVENT_STORE, IDS, LOGGER, POSITION_WAITER, SIGNING_SECRET, TIMERS } from './tokens.js';
export type { PositionWaiter } from './tokens.js';
