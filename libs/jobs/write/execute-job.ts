import { Inject } from '@nestjs/common';
import { Command, CommandHandler as Handles } from '@nestjs/cqrs';
import type { ICommandHandler } from '@nestjs/cqrs';
import type { CommandContext, CommandHandler, Handled } from '#event-store';
import type { JobCommand } from '../domain/commands.js';
import type { JobEvent } from '../domain/events.js';
import { jobStream } from '../domain/events.js';
import type { JobState } from '../domain/state.js';

/** The one generic handler over the jobs' streams, shared by everything in the process that writes to them. */
export type JobCommands = CommandHandler<JobCommand, JobEvent, JobState>;
export const JOB_COMMANDS = Symbol('JobCommands');

/** Runs a command on a job, for any entrance (REST, GraphQL, agent protocol). */
export class ExecuteJob extends Command<Handled<JobState>> {
  constructor(
    readonly jobId: string,
    readonly command: JobCommand,
    readonly context: CommandContext,
  ) {
    super();
  }
}

@Handles(ExecuteJob)
export class ExecuteJobHandler implements ICommandHandler<ExecuteJob> {
  constructor(@Inject(JOB_COMMANDS) private readonly jobs: JobCommands) {}

  execute({ jobId, command, context }: ExecuteJob): Promise<Handled<JobState>> {
    return this.jobs.handle(jobStream(jobId), command, context);
  }
}
