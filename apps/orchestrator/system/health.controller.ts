import { Controller, Get, Inject, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Public, Roles } from '#platform/http';
import { Lifecycle } from '../lifecycle.js';
import { Metrics } from './metrics.js';

@ApiTags('system')
@Controller()
export class HealthController {
  constructor(
    @Inject(Lifecycle) private readonly lifecycle: Lifecycle,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  @Get('livez')
  @Public()
  @ApiOperation({ summary: 'The process runs' })
  live(): { status: string } {
    return { status: 'ok' };
  }

  @Get('readyz')
  @Public()
  @ApiOperation({ summary: 'The process can do its work: event store, view and database answer' })
  async ready(@Res() reply: FastifyReply, @Query('verbose') verbose?: string): Promise<void> {
    const wrong = await this.lifecycle.unreadiness();
    const status = Object.keys(wrong).length === 0 ? 'ok' : 'not ready';
    const body = verbose === undefined ? { status } : { status, wrong, schedules: this.lifecycle.leads };
    await reply.status(status === 'ok' ? 200 : 503).send(body);
  }

  @Get('metrics')
  @Roles('operator', 'auditor')
  @ApiOperation({ summary: 'Counters in the Prometheus text format' })
  async read(@Res() reply: FastifyReply): Promise<void> {
    await reply.header('content-type', this.metrics.registry.contentType).send(await this.metrics.read());
  }
}
