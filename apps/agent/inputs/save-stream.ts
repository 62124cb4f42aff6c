import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ExecutionFault, failure } from '../executions/ending.js';

export interface Saved {
  readonly sha256: string;
  readonly size: number;
}

/** Writes a stream to a new file, flushed to disk, and tells its digest. More than `limit` bytes fail as `input-too-large`. */
export const saveStream = async (body: Readable, path: string, limit: number): Promise<Saved> => {
  const hash = createHash('sha256');
  let size = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      hash.update(chunk);
      if (size <= limit) done(null, chunk);
      else done(new ExecutionFault(failure('input', 'input-too-large', `an input is larger than ${limit} bytes`)));
    },
  });
  await pipeline(body, count, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }));
  return { sha256: hash.digest('hex'), size };
};
