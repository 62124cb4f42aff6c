import { Body, Controller, Get, Headers, Inject, Param, Put, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import {
  CurrentCaller,
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
import { identifier } from '#platform/validation';
import { isMember } from '../domain/project-decider.js';
import { ProjectQueries } from '../read/index.js';
import type { ProjectView } from '../read/index.js';
import { ExecuteProject } from '../write/execute-project.js';
import { parseProjectConfig } from './dto/index.js';

@ApiTags('projects')
@Controller('v1/projects')
export class ProjectsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly projects: ProjectQueries,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ApiOperation({ summary: 'All projects; members and quota of those that the caller works in' })
  async list(@Query() query: unknown, @CurrentCaller() caller: Caller): Promise<unknown> {
    const { items, next } = await this.projects.list(readQuery(ListQuery, query));
    return { items: items.map((project) => shownTo(caller, project)), next };
  }

  @Get(':id')
  @ApiOperation({ summary: 'One project; ETag is its revision' })
  async show(
    @Param('id') projectId: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const project = await this.projects.get(projectId);
    if (!project) throw new ProblemException('PROJECT_NOT_FOUND', `there is no project ${projectId}`);
    void reply.header('etag', `"${project.revision}"`);
    return shownTo(caller, project);
  }

  @Put(':id')
  @Roles('operator')
  @ApiOperation({ summary: 'Set institution, members, quota and weight of a project; the first call creates it' })
  async configure(
    @Param('id') projectId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('if-match') match?: string,
  ): Promise<unknown> {
    const wrong = identifier(projectId);
    if (wrong.length > 0)
      throw invalid([{ pointer: '', code: 'MALFORMED', message: `the id ${wrong[0]?.message ?? ''}` }]);
    const at = toInstant(this.clock.now());
    const command = { type: 'ConfigureProject' as const, ...parsed(parseProjectConfig(body)), projectId, at };
    const context = { actor: caller.account, ...ifMatch(match) };
    const state = answered(await this.commands.execute(new ExecuteProject(projectId, command, context)), reply);
    const { institution, members, quota, weight } = state;
    return { id: projectId, institution, members, quota, weight };
  }
}

/** Who works in a project, and what it may use, is known to its members, operators and auditors; null to others. */
const shownTo = ({ role, account }: Caller, project: ProjectView): object => {
  const whole = role === 'operator' || role === 'auditor' || isMember(project, account);
  return whole ? project : { ...project, members: null, quota: null };
};
