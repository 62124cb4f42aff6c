import { toInstant } from '#kernel';
import type { RecordedEvent } from './port.js';

/** An event as auditors and subscribers get it: exactly what is stored, 64-bit numbers as text. */
export const rawEvent = ({
  id,
  type,
  stream,
  revision,
  position,
  recordedAt,
  data,
  metadata,
}: RecordedEvent): object => ({
  id,
  type,
  stream,
  revision: String(revision),
  position: String(position),
  recordedAt: toInstant(recordedAt),
  metadata,
  data,
});
