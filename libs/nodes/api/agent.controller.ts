import { Body, Controller, Get, HttpCode, Inject, Param, Post, Put, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import { parseDuration } from '#contracts';
import type { AssignmentsAnswer, EnrollAnswer, LeaveAnswer } from '#contracts';
import { issueToken } from '#platform/auth';
import { CurrentCaller, OwnIdempotency, ProblemException, Roles, answered, parsed } from '#platform/http';
import type { Caller } from '#platform/http';
import { CLOCK, SIGNING_SECRET } from '#platform/ports';
import { AssignmentBoard, ClusterView } from '#scheduling';
import { ExecuteNode } from '../write/execute-node.js';
import { assignmentOf } from './assignments.js';
import { parseCache, parseEnrollment, parseHeartbeat, parseInventory } from './dto/index.js';
import { NodePresence } from './presence.js';

/** Seconds between heartbeats that agents are asked for. */
export const HEARTBEAT_INTERVAL = Symbol('HeartbeatInterval');
/** Longest long poll, in milliseconds. */
const LONGEST_POLL = 60_000;

/** What a node's agent says of the node itself, and where it learns what to run. */
@ApiTags('agent')
@Controller('v1/nodes')
@OwnIdempotency()
export class AgentController {
  constructor(
    private readonly commands: CommandBus,
    private readonly presence: NodePresence,
    private readonly board: AssignmentBoard,
    private readonly view: ClusterView,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SIGNING_SECRET) private readonly secret: string,
    @Inject(HEARTBEAT_INTERVAL) private readonly heartbeatInterval: number,
  ) {}

  /** A node that comes back proves itself with the token that it was given the first time. */
  @Post('enroll')
  @HttpCode(200)
  @Roles('node', 'operator')
  async enroll(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EnrollAnswer> {
    const request = parsed(parseEnrollment(body));
    const nodeId = request.name;
    if (caller.nodeId !== undefined && caller.nodeId !== nodeId) {
      throw new ProblemException('WRONG_NODE', `this token belongs to node ${caller.nodeId}`);
    }
    const returning = caller.nodeId === nodeId;
    const command = { type: 'EnrollNode' as const, ...request, nodeId, returning, at: this.now() };
    answered(await this.commands.execute(new ExecuteNode(nodeId, command, { actor: `node:${nodeId}` })), reply);
    await this.presence.seen(nodeId);
    const token = await issueToken(this.secret, { role: 'node', account: `node:${nodeId}`, nodeId });
    return { nodeId, token, heartbeatInterval: this.heartbeatInterval };
  }

  @Put(':id/inventory')
  @Roles('node')
  async inventory(
    @Param('id') nodeId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ nodeId: string }> {
    ownNode(caller, nodeId);
    const command = { type: 'ChangeInventory' as const, inventory: parsed(parseInventory(body)), at: this.now() };
    answered(await this.commands.execute(new ExecuteNode(nodeId, command, { actor: caller.account })), reply);
    return { nodeId };
  }

  /** All that the agent keeps for later tasks. The same again changes nothing; changes within ten seconds are refused (429). */
  @Put(':id/cache')
  @Roles('node')
  async cache(
    @Param('id') nodeId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ nodeId: string }> {
    ownNode(caller, nodeId);
    const { inputs } = parsed(parseCache(body));
    // Told again now and then; the view knows it without reading the node's stream.
    if (sameMembers(this.view.cluster.nodes.get(nodeId)?.cached, inputs)) return { nodeId };
    const command = { type: 'ReportCache' as const, held: inputs, at: this.now() };
    answered(await this.commands.execute(new ExecuteNode(nodeId, command, { actor: caller.account })), reply);
    return { nodeId };
  }

  @Post(':id/heartbeat')
  @HttpCode(200)
  @Roles('node')
  async heartbeat(
    @Param('id') nodeId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
  ): Promise<{ time: string }> {
    ownNode(caller, nodeId);
    const beat = parsed(parseHeartbeat(body));
    await this.presence.seen(nodeId, beat);
    if (beat.roundTrip !== undefined) await this.presence.measured(nodeId, beat.roundTrip);
    return { time: this.now() };
  }

  /** The agent was told to end. Nothing new comes to the node until it enrols again; what runs there may go on. */
  @Post(':id/leave')
  @HttpCode(200)
  @Roles('node')
  async leave(
    @Param('id') nodeId: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LeaveAnswer> {
    ownNode(caller, nodeId);
    const command = { type: 'AnnounceStop' as const, at: this.now() };
    answered(await this.commands.execute(new ExecuteNode(nodeId, command, { actor: caller.account })), reply);
    return { nodeId };
  }

  /** The whole desired set. `wait` (at most 60 s) holds the answer back while it equals the one at `after`. */
  @Get(':id/assignments')
  @Roles('node')
  async assignments(
    @Param('id') nodeId: string,
    @CurrentCaller() caller: Caller,
    @Query('after') after?: string,
    @Query('wait') wait?: string,
  ): Promise<AssignmentsAnswer> {
    ownNode(caller, nodeId);
    await this.presence.seen(nodeId);
    const set = await this.board.next(nodeId, positionOf(after), waitOf(wait));
    const executions = set.executions.map((execution) => assignmentOf(this.view.cluster, execution));
    return { revision: String(set.revision), executions };
  }

  private now(): string {
    return toInstant(this.clock.now());
  }
}

const sameMembers = (known: ReadonlySet<string> | undefined, given: readonly string[]): boolean =>
  known?.size === given.length && given.every((one) => known.has(one));

/** A node's token speaks for that node alone. */
export const ownNode = (caller: Caller, nodeId: string): void => {
  if (caller.nodeId !== nodeId)
    throw new ProblemException('WRONG_NODE', `this token does not belong to node ${nodeId}`);
};

const positionOf = (after: string | undefined): bigint | undefined => {
  if (after === undefined || after === '') return undefined;
  if (!/^-?\d{1,20}$/.test(after))
    throw new ProblemException('POSITION_INVALID', '`after` is a revision as it was received');
  return BigInt(after);
};

const waitOf = (wait: string | undefined): number => {
  if (wait === undefined) return 0;
  const seconds = parseDuration(wait);
  if (!seconds.ok) throw new ProblemException('VALIDATION_FAILED', `wait: ${seconds.message}`);
  return Math.min(LONGEST_POLL, seconds.value * 1000);
};
