export { ANSWERS, CLOCK, EVENT_STORE, IDS, LOGGER, POSITION_WAITER, SIGNING_SECRET, TIMERS } from './tokens.js';
export type { AnswerKey, Answers, KeptAnswer, PositionWaiter } from './tokens.js';
