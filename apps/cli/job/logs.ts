import { serverSentEvents } from '../client/server-sent-events.js';
import type { Session } from '../client/session.js';

export interface LogFlags {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly execution?: string;
}

/** Prints what the task wrote; with `--follow` until the server says that it has ended. */
export const showLogs = async (id: string, { api, io, flags }: Session<LogFlags>): Promise<void> => {
  const { follow, tail, execution } = flags;
  const path = `/jobs/${encodeURIComponent(id)}/logs`;
  const response = await api.request('GET', path, { query: { follow, tail, execution } });
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    for await (const { data } of serverSentEvents(response)) io.out.write(`${data}\n`);
    return;
  }
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    io.out.write(decoder.decode(chunk, { stream: true }));
  }
};
