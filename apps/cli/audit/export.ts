import { createHash } from 'node:crypto';
import type { Sink } from '../io.js';
import type { RawEvent } from '#contracts';

/** The last line of an export: what the lines before it come to. */
export interface ExportDigest {
  readonly stream: string;
  readonly events: number;
  /** `sha256:` and the digest of every byte above this line. */
  readonly digest: string;
}

/** Writes the events as NDJSON, oldest first, and a digest over exactly those bytes. */
export const writeExport = (events: readonly RawEvent[], out: Sink): void => {
  const body = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  const digest: ExportDigest = { stream: events[0]?.stream ?? '', events: events.length, digest: digestOf(body) };
  out.write(`${body}${JSON.stringify(digest)}\n`);
};

/** Reads an export back. Throws when the digest line is missing or the lines are not those it was made over. */
export const readExport = (text: string): readonly RawEvent[] => {
  const lines = text.trimEnd().split('\n');
  const last = parseLine(lines.pop() ?? '') as Partial<ExportDigest>;
  if (last.digest === undefined) throw new Error('the export has no digest line at its end: it is not complete');
  const body = lines.map((line) => `${line}\n`).join('');
  if (digestOf(body) !== last.digest) throw new Error('the export was changed: its digest is another');
  return lines.map((line) => parseLine(line) as RawEvent);
};

const digestOf = (body: string): string => `sha256:${createHash('sha256').update(body).digest('hex')}`;

const parseLine = (line: string): object => {
  try {
    return JSON.parse(line) as object;
  } catch {
    throw new Error(`the export has a line that is no JSON: ${line.slice(0, 80)}`);
  }
};
