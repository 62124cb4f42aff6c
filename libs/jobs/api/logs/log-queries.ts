import { invalid, readQuery } from '#platform/http';
import { choice, Optional, Required, text } from '#platform/validation';
import { LOG_STREAMS } from './log-text.js';

/** What is asked for of a job's logs. */
export class LogsQuery {
  @Optional(text())
  execution?: string;

  @Optional(choice(LOG_STREAMS))
  stream?: string;

  @Optional(text({ form: /^\d{1,9}$/, says: 'a number of lines' }))
  tail?: string;

  @Optional(choice(['true', 'false']))
  follow?: string;
}

const bytes = text({ form: /^\d{1,15}$/, says: 'a number of bytes' });

class LogChunkQuery {
  @Required(choice(LOG_STREAMS))
  stream!: string;

  @Required(bytes)
  offset!: string;

  @Optional(bytes)
  gap?: string;
}

/** Where a chunk belongs. */
export interface ChunkPlace {
  readonly stream: string;
  readonly offset: number;
  readonly gap: number;
}

/** Throws the problem that names every mistake. */
export const readChunkPlace = (query: unknown): ChunkPlace => {
  const { stream, offset, gap = '0' } = readQuery(LogChunkQuery, query);
  if (Number(gap) > Number(offset)) {
    const message = `must not be over the ${offset} bytes that there are before the chunk`;
    throw invalid([{ pointer: '/gap', code: 'OUT_OF_RANGE', message }]);
  }
  return { stream, offset: Number(offset), gap: Number(gap) };
};
