import type { Session } from '../client/session.js';

export interface LogFlags {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly execution?: string;
}

/** Prints what the task wrote; with `--follow` until the job has ended. */
export const showLogs = async (id: string, { client, io, output, flags }: Session<LogFlags>): Promise<void> => {
  const { follow, tail, execution } = flags;
  const options = {
    ...(follow ? { follow } : {}),
    ...(tail === undefined ? {} : { tail }),
    ...(execution === undefined ? {} : { execution }),
    origins: output !== 'table',
  };
  for await (const line of client.logs(id, options)) {
    io.out.write(output === 'table' ? `${line.text}\n` : `${JSON.stringify(line)}\n`);
  }
};
