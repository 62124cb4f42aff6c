import type { DrainAnnouncer, NodeDrainStarted } from './events.js';

/** Why a node drains whose agent said that it ends. */
export const AGENT_STOPS = 'its agent is stopping';

/** Who announced a drain. Events of old do not say it: of those the reason tells. */
export const announcerOf = ({ announcedBy, reason }: NodeDrainStarted['data']): DrainAnnouncer =>
  announcedBy ?? (reason === AGENT_STOPS ? 'agent' : 'operator');
