import type { LogStore } from '#artifacts';

export const LOG_STREAMS: readonly string[] = ['stdout', 'stderr'];

/** Most bytes of one stream in one answer; a longer log is read with `execution` and `stream` in parts, or followed. */
const MOST_BYTES = 16 * 1024 * 1024;

/** The end of a stream, at most `MOST_BYTES` of it. */
export const readAll = async (logs: LogStore, executionId: string, stream: string): Promise<string> => {
  const size = await logs.size(executionId, stream);
  const from = Math.max(0, size - MOST_BYTES);
  return (await logs.read(executionId, stream, from, MOST_BYTES)).toString('utf8');
};

/** The last `count` lines with their line ends, or all of them. */
export const lastLines = (text: string, count: number | undefined): string => {
  if (count === undefined) return text;
  if (count === 0) return '';
  const lines = text.split(/(?<=\n)/);
  return lines.slice(-count).join('');
};
