import { Inject } from '@nestjs/common';
import { Command, CommandHandler as Handles } from '@nestjs/cqrs';
import type { ICommandHandler } from '@nestjs/cqrs';
import type { CommandContext, CommandHandler, Handled } from '#event-store';
import type { NodeCommand } from '../domain/commands.js';
import type { NodeEvent } from '../domain/events.js';
import { nodeStream } from '../domain/events.js';
import type { NodeState } from '../domain/state.js';

/** The one generic handler over the nodes' streams, shared by everything in the process that writes to them. */
export type NodeCommands = CommandHandler<NodeCommand, NodeEvent, NodeState>;
export const NODE_COMMANDS = Symbol('NodeCommands');

/** Runs a command on a node. */
export class ExecuteNode extends Command<Handled<NodeState>> {
  constructor(
    readonly nodeId: string,
    readonly command: NodeCommand,
    readonly context: CommandContext,
  ) {
    super();
  }
}

@Handles(ExecuteNode)
export class ExecuteNodeHandler implements ICommandHandler<ExecuteNode> {
  constructor(@Inject(NODE_COMMANDS) private readonly nodes: NodeCommands) {}

  execute({ nodeId, command, context }: ExecuteNode): Promise<Handled<NodeState>> {
    return this.nodes.handle(nodeStream(nodeId), command, context);
  }
}
