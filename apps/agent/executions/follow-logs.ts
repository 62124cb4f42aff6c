import { messageOf } from '../client/errors.js';
import { LogStream } from '../logs/log-stream.js';
import { TaskLog } from '../logs/task-log.js';
import type { TaskFolder } from '../runner/task-folder.js';
import type { ExecutionHost } from './host.js';

/** Begins to send both output streams of an execution. One that the server refuses is the node's to log, and no fault. */
export const followLogs = (host: ExecutionHost, executionId: string, folder: TaskFolder): LogStream[] => {
  const refused = (error: unknown): void =>
    host.log.warn({ executionId, reason: messageOf(error) }, 'logs were refused');
  return (['stdout', 'stderr'] as const).map((stream) => {
    const log = new TaskLog(folder[stream]);
    return new LogStream({ executionId, stream, log, refused }, host.http, host.timers, host.random);
  });
};
