import { EventTooLarge } from './port.js';
import type { NewEvent } from './port.js';

/** The most bytes of type, data and metadata in one append: older servers refuse more than 1 MiB. */
export const MAX_APPEND_BYTES = 1024 * 1024;

/** An event's stored form; made once, so that what was measured is what is sent. */
export interface EncodedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

/**
 * Writes the events as JSON. Throws `EventTooLarge` when they are over the limit together and `RangeError` when there
 * are none: an empty append would be a check without an effect, and every caller that wants one means something else.
 */
export const encodeEvents = (events: readonly NewEvent[]): readonly EncodedEvent[] => {
  if (events.length === 0) throw new RangeError('an append needs at least one event');
  const encoded = events.map(({ id, type, data, metadata }) => ({
    id,
    type,
    data: JSON.stringify(data),
    metadata: JSON.stringify(metadata),
  }));
  const size = encoded.reduce((sum, event) => sum + encodedSize(event), 0);
  if (size > MAX_APPEND_BYTES) throw new EventTooLarge(size, MAX_APPEND_BYTES);
  return encoded;
};

/** Bytes that count towards the limit; ids and framing are not the writer's. */
export const encodedSize = (event: EncodedEvent): number =>
  Buffer.byteLength(event.type) + Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata);
