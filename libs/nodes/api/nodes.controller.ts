import { Body, Controller, Get, Headers, HttpCode, Inject, Param, Post, Put, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import {
  CurrentCaller,
  Idempotent,
  ListQuery,
  ProblemException,
  Roles,
  answered,
  ifMatch,
  invalid,
  parsed,
  readQuery,
} from '#platform/http';
import type { Caller } from '#platform/http';
import { CLOCK } from '#platform/ports';
import { setAsideUntil } from '#placement';
import { ClusterView } from '#scheduling';
import type { NodeCommand } from '../domain/commands.js';
import { NodeQueries } from '../read/index.js';
import { ExecuteNode } from '../write/execute-node.js';
import { NodeSight } from './node-sight.js';
import { parseDrain, parsePolicy, parseReason } from './dto/index.js';

/** What people read of nodes, and what their owners and operators decide. */
@ApiTags('nodes')
@Controller('v1/nodes')
export class NodesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly nodes: NodeQueries,
    private readonly view: ClusterView,
    private readonly sight: NodeSight,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ApiOperation({ summary: 'The enrolled nodes that the caller sees' })
  async list(@Query() query: unknown, @CurrentCaller() caller: Caller): Promise<unknown> {
    const { items, next } = await this.nodes.list(readQuery(ListQuery, query), this.sight.visibleNodes(caller));
    return { items: items.map((node) => this.sight.shown(caller, node)), next };
  }

  @Get(':id')
  @ApiOperation({ summary: 'One node: inventory, policy, presence, reserved and free capacity' })
  async show(@Param('id') nodeId: string, @CurrentCaller() caller: Caller): Promise<unknown> {
    const node = await this.nodes.get(nodeId);
    if (!node || !this.sight.sees(caller, nodeId))
      throw new ProblemException('NODE_UNKNOWN', `there is no node ${nodeId}`);
    return { ...this.sight.shown(caller, node), setAside: this.setAside(nodeId) };
  }

  /** A node that keeps refusing gets no work for a while; null when it does not, or its pause is over. */
  private setAside(nodeId: string): { refusals: number; until: string } | null {
    const known = this.view.cluster.nodes.get(nodeId);
    const until = known && setAsideUntil(known.refusals);
    if (until === undefined || until <= this.clock.now()) return null;
    return { refusals: known?.refusals.count ?? 0, until: toInstant(until) };
  }

  @Put(':id/policy')
  @ApiOperation({ summary: "Replace the owner's policy" })
  async policy(
    @Param('id') nodeId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('if-match') match?: string,
  ): Promise<unknown> {
    const policy = parsed(parsePolicy(body));
    return this.run(nodeId, { type: 'ChangePolicy', policy, at: this.now() }, caller, reply, match);
  }

  @Post(':id/cordon')
  @Idempotent()
  @HttpCode(200)
  @Roles('operator')
  @ApiOperation({ summary: 'Give the node no new work' })
  cordon(
    @Param('id') nodeId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const { reason } = parsed(parseReason(body));
    return this.run(nodeId, { type: 'CordonNode', reason, at: this.now() }, caller, reply);
  }

  @Post(':id/uncordon')
  @Idempotent()
  @HttpCode(200)
  @Roles('operator')
  @ApiOperation({ summary: 'Give the node work again' })
  uncordon(
    @Param('id') nodeId: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    return this.run(nodeId, { type: 'UncordonNode', at: this.now() }, caller, reply);
  }

  @Post(':id/drain')
  @Idempotent()
  @HttpCode(200)
  @Roles('operator')
  @ApiOperation({ summary: 'Give the node no new work and let it run empty' })
  drain(
    @Param('id') nodeId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const { reason, deadline } = parsed(parseDrain(body));
    const at = this.now();
    if (deadline !== undefined && deadline <= at) throw invalid([inThePast(deadline)]);
    return this.run(nodeId, { type: 'DrainNode', reason, ...(deadline && { deadline }), at }, caller, reply);
  }

  private async run(
    nodeId: string,
    command: NodeCommand,
    caller: Caller,
    reply: FastifyReply,
    match?: string,
  ): Promise<unknown> {
    this.mayChange(nodeId, caller);
    const context = { actor: caller.account, ...ifMatch(match) };
    const state = answered(await this.commands.execute(new ExecuteNode(nodeId, command, context)), reply);
    const { policy, cordoned, draining } = state;
    return { id: nodeId, policy, cordoned: cordoned ?? null, draining: draining ?? null };
  }

  /** Operators run every node. */
  private mayChange(nodeId: string, caller: Caller): void {
    if (caller.role === 'operator' || caller.nodeId === nodeId) return;
    throw new ProblemException('FORBIDDEN', `${caller.account} does not run node ${nodeId}`);
  }

  private now(): string {
    return toInstant(this.clock.now());
  }
}

/** It would stop at once what runs, which whoever mistypes a date does not mean. */
const inThePast = (deadline: string): Parameters<typeof invalid>[0][number] => ({
  pointer: '/deadline',
  code: 'OUT_OF_RANGE',
  message: `must be in the future, not ${deadline}`,
});
