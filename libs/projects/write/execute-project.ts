import { Inject } from '@nestjs/common';
import { Command, CommandHandler as Handles } from '@nestjs/cqrs';
import type { ICommandHandler } from '@nestjs/cqrs';
import type { CommandContext, CommandHandler, Handled } from '#event-store';
import type { ProjectEvent } from '../domain/events.js';
import { projectStream } from '../domain/events.js';
import type { ProjectCommand, ProjectState } from '../domain/project-decider.js';

/** The one generic handler over the projects' streams, shared by everything in the process that writes to them. */
export type ProjectCommands = CommandHandler<ProjectCommand, ProjectEvent, ProjectState>;
export const PROJECT_COMMANDS = Symbol('ProjectCommands');

/** Runs a command on a project. */
export class ExecuteProject extends Command<Handled<ProjectState>> {
  constructor(
    readonly projectId: string,
    readonly command: ProjectCommand,
    readonly context: CommandContext,
  ) {
    super();
  }
}

@Handles(ExecuteProject)
export class ExecuteProjectHandler implements ICommandHandler<ExecuteProject> {
  constructor(@Inject(PROJECT_COMMANDS) private readonly projects: ProjectCommands) {}

  execute({ projectId, command, context }: ExecuteProject): Promise<Handled<ProjectState>> {
    return this.projects.handle(projectStream(projectId), command, context);
  }
}
