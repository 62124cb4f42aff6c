import { ProblemException } from '#platform/http';
import { executionIdOf } from '../../domain/events.js';
import { LOG_STREAMS } from './log-text.js';

/** Up to which byte each stream of each execution was told; keys are made by `streamKey`. */
export type LogPosition = ReadonlyMap<string, number>;

export const streamKey = (executionId: string, stream: string): string => `${executionId} ${stream}`;

/** A request that carries a longer one might be refused for its size. */
const LONGEST = 4096;

/**
 * The position as the id of a server-sent event: of each execution its name within the job and a number for each stream,
 * nothing for one that is not followed: `3f2a:120:;9c11:7:40`. Undefined when it would be too long.
 */
export const positionText = (position: LogPosition): string | undefined => {
  const executions = new Map<string, string[]>();
  for (const [key, offset] of position) {
    const [executionId = '', stream = ''] = key.split(' ');
    const name = executionId.slice(executionId.indexOf('.') + 1);
    const offsets = executions.get(name) ?? LOG_STREAMS.map(() => '');
    offsets[LOG_STREAMS.indexOf(stream)] = String(offset);
    executions.set(name, offsets);
  }
  const text = [...executions].map(([name, offsets]) => [name, ...offsets].join(':')).join(';');
  return text.length <= LONGEST ? text : undefined;
};

/** What `positionText` wrote, of this job. Throws the problem of an id that is none of ours. */
export const positionOf = (text: string, jobId: string): LogPosition => {
  const position = new Map<string, number>();
  for (const each of text.split(';')) {
    const [, name, ...offsets] = /^([^\s:;]+):(\d{0,15}):(\d{0,15})$/.exec(each) ?? [];
    if (name === undefined) {
      throw new ProblemException('POSITION_INVALID', 'Last-Event-ID must be the id of an event of these logs');
    }
    for (const [index, stream] of LOG_STREAMS.entries()) {
      const offset = offsets[index] ?? '';
      if (offset !== '') position.set(streamKey(executionIdOf(jobId, name), stream), Number(offset));
    }
  }
  return position;
};
