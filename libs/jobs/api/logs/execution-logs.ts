import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { LogChunkTooLarge, LogOffsetGap, LogStore } from '#artifacts';
import type { LogAnswer } from '#contracts';
import { ProblemException } from '#platform/http';
import { jobIdOfExecution, jobStream } from '../../domain/events.js';
import { JOB_COMMANDS } from '../../write/execute-job.js';
import type { JobCommands } from '../../write/execute-job.js';
import { readChunkPlace } from './log-queries.js';

/** Takes the bytes that a task wrote, from the node that runs it. */
@Injectable()
export class ExecutionLogs {
  /** Which node an execution belongs to never changes. */
  private readonly owners = new Map<string, string>();

  constructor(
    private readonly logs: LogStore,
    @Inject(JOB_COMMANDS) private readonly jobs: JobCommands,
  ) {}

  async append(nodeId: string, executionId: string, query: unknown, body: Readable | undefined): Promise<LogAnswer> {
    const { stream, offset, gap } = readChunkPlace(query);
    if ((await this.ownerOf(executionId)) !== nodeId) {
      throw new ProblemException('WRONG_NODE', `execution ${executionId} does not run on ${nodeId}`);
    }
    try {
      const bytes = await bytesOf(body, this.logs.limits.chunk);
      return { nextOffset: await this.logs.append(executionId, stream, { offset, gap, bytes }) };
    } catch (error) {
      throw problemOf(error);
    }
  }

  private async ownerOf(executionId: string): Promise<string | undefined> {
    const known = this.owners.get(executionId);
    if (known !== undefined) return known;
    const { state } = await this.jobs.load(jobStream(jobIdOfExecution(executionId)));
    const owner = state.executions[executionId]?.nodeId;
    if (owner !== undefined) this.remember(executionId, owner);
    return owner;
  }

  private remember(executionId: string, owner: string): void {
    if (this.owners.size >= 10_000) this.owners.clear();
    this.owners.set(executionId, owner);
  }
}

const problemOf = (error: unknown): unknown => {
  if (error instanceof LogOffsetGap) {
    return new ProblemException('LOG_OFFSET_GAP', error.message, { expected: error.expected });
  }
  if (error instanceof LogChunkTooLarge) {
    return new ProblemException('LOG_CHUNK_TOO_LARGE', error.message, { largest: error.largest });
  }
  return error;
};

/** An empty chunk has no body. What is over the limit is read to its end, for its sender to read the answer, but not kept. */
const bytesOf = async (body: Readable | undefined, largest: number): Promise<Buffer> => {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    size += (part as Buffer).length;
    if (size <= largest) parts.push(part as Buffer);
    else parts.length = 0;
  }
  if (size > largest) throw new LogChunkTooLarge(largest);
  return Buffer.concat(parts);
};
