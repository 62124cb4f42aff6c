import { Args, ID, Query, Resolver } from '@nestjs/graphql';
import { CurrentCaller, Json, Roles } from '#platform/http';
import type { Caller } from '#platform/http';
import { JobAccess } from '../job-access.js';
import { readRange, readWhatIf } from './audit-query.dto.js';
import { gathered } from './gathered.js';
import { requireWholeView } from './whole-view.js';
import { Verification } from './verification.js';

const text = { type: () => String, nullable: true } as const;

/** The recorded decisions derived again, over GraphQL: the same shapes as REST gives at once. */
@Resolver()
@Roles('operator', 'auditor')
export class AuditResolver {
  constructor(
    private readonly verification: Verification,
    private readonly access: JobAccess,
  ) {}

  @Query(() => Json, { name: 'auditVerify', description: 'Derive recorded decisions again and compare' })
  async verify(
    @CurrentCaller() caller: Caller,
    @Args('job', { type: () => ID, nullable: true }) job?: string | null,
    @Args('from', text) from?: string | null,
    @Args('to', text) to?: string | null,
  ): Promise<object> {
    requireWholeView(caller);
    const range = readRange({ job, from, to });
    if (range.jobId !== undefined) await this.access.maySee(range.jobId, caller);
    return gathered('differences', (finder) => this.verification.verify(range, finder));
  }

  @Query(() => Json, { name: 'whatIf', description: 'Decisions that other weights would have made otherwise' })
  async whatIf(
    @CurrentCaller() caller: Caller,
    @Args('weights', { description: 'resources=40,reliability=20,…: all five' }) weights: string,
    @Args('profile', text) profile?: string | null,
    @Args('job', { type: () => ID, nullable: true }) job?: string | null,
    @Args('from', text) from?: string | null,
    @Args('to', text) to?: string | null,
  ): Promise<object> {
    requireWholeView(caller);
    const { range, ...other } = readWhatIf({ weights, profile, job, from, to });
    if (range.jobId !== undefined) await this.access.maySee(range.jobId, caller);
    return gathered('changes', (finder) => this.verification.whatIf(range, other, finder));
  }
}
