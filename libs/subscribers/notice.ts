import { rawEvent } from '#event-store';
import type { RecordedEvent } from '#event-store';

/** What a subscriber is sent, whatever way: the event as it is stored, as one JSON document. */
export const noticeOf = (event: RecordedEvent): string => JSON.stringify(rawEvent(event));

/** What the event is about: a job, a node or a project, by its id. */
export const subjectOf = ({ stream }: RecordedEvent): string => stream.slice(stream.indexOf('-') + 1);
