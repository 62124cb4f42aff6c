import type { EventFilter } from './port.js';

/** Whether a reader with this filter is told of the stream. Streams whose names start with `$` belong to the store. */
export const matchesFilter = (stream: string, filter: EventFilter | undefined): boolean =>
  filter ? filter.streamPrefixes.some((prefix) => stream.startsWith(prefix)) : !stream.startsWith('$');
