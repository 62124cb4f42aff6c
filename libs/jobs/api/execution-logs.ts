import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { LogOffsetGap, LogStore } from '#artifacts';
import type { LogAnswer } from '#contracts';
import { ProblemException } from '#platform/http';
import { jobIdOfExecution, jobStream } from '../domain/events.js';
import { JOB_COMMANDS } from '../write/execute-job.js';
import type { JobCommands } from '../write/execute-job.js';

const STREAMS: readonly string[] = ['stdout', 'stderr'];

/** Takes the bytes that a task wrote, from the node that runs it. */
@Injectable()
export class ExecutionLogs {
  /** Which node an execution belongs to never changes. */
  private readonly owners = new Map<string, string>();

  constructor(
    private readonly logs: LogStore,
    @Inject(JOB_COMMANDS) private readonly jobs: JobCommands,
  ) {}

  async append(
    nodeId: string,
    executionId: string,
    stream: string,
    offset: string,
    body: Readable | undefined,
  ): Promise<LogAnswer> {
    if (!STREAMS.includes(stream)) throw new ProblemException('VALIDATION_FAILED', 'stream must be stdout or stderr');
    if (!/^\d{1,15}$/.test(offset)) throw new ProblemException('VALIDATION_FAILED', 'offset must be a number of bytes');
    if ((await this.ownerOf(executionId)) !== nodeId) {
      throw new ProblemException('WRONG_NODE', `execution ${executionId} does not run on ${nodeId}`);
    }
    try {
      return { nextOffset: await this.logs.append(executionId, stream, Number(offset), await bytesOf(body)) };
    } catch (error) {
      if (!(error instanceof LogOffsetGap)) throw error;
      throw new ProblemException('LOG_OFFSET_GAP', error.message, { expected: error.expected });
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

/** An empty chunk has no body. */
const bytesOf = async (body: Readable | undefined): Promise<Buffer> => {
  const parts: Buffer[] = [];
  if (!body) return Buffer.alloc(0);
  for await (const part of body) parts.push(part as Buffer);
  return Buffer.concat(parts);
};
