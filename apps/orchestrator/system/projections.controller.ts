import { Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Idempotent, ProblemException, Roles } from '#platform/http';
import { poolOf, readProjectionStatus, rebuildProjection } from '#read-store';
import { PARTS } from '../tokens.js';
import type { Parts } from '../parts.js';

/** How far the read models are, and their rebuild. */
@ApiTags('system')
@Controller('v1/projections')
@Roles('operator', 'auditor')
export class ProjectionsController {
  constructor(@Inject(PARTS) private readonly parts: Parts) {}

  @Get()
  @ApiOperation({ summary: 'Position, lag, state and rebuild progress of each read model' })
  async status(): Promise<unknown> {
    const { readStore, store, projections, clock } = this.parts;
    return { items: await readProjectionStatus(poolOf(readStore), store, projections, clock) };
  }

  /** Answers at once; the progress is in the status. */
  @Post(':name/rebuild')
  @Idempotent()
  @HttpCode(202)
  @Roles('operator')
  @ApiOperation({ summary: 'Fill new tables from the log beside the present ones, then switch' })
  rebuild(@Param('name') name: string): { name: string; state: string } {
    const { readStore, store, projections, clock, log } = this.parts;
    const projection = projections.find((one) => one.name === name);
    if (!projection) {
      const names = projections.map((one) => one.name).join(', ');
      throw new ProblemException('PROJECTION_UNKNOWN', `there is no projection ${name}; there are ${names}`);
    }
    void rebuildProjection({ pool: poolOf(readStore), store, projection, clock }).catch((error: unknown) => {
      log.error({ err: error, projection: name }, 'the rebuild ended without a switch');
    });
    return { name, state: 'rebuilding' };
  }
}
