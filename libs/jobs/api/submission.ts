import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { toInstant } from '#kernel';
import type { Clock, Ids } from '#kernel';
import type { Handled } from '#event-store';
import { neverReasons, plannedRequest } from '#placement';
import { CLOCK, IDS } from '#platform/ports';
import { ProblemException, doneOrThrow, invalid } from '#platform/http';
import type { Caller } from '#platform/http';
import { isMember } from '#projects';
import type { ProjectState } from '#projects';
import { ClusterView } from '#scheduling';
import type { JobState } from '../domain/state.js';
import { ExecuteJob } from '../write/execute-job.js';
import { canonicalFingerprint } from './fingerprint.js';
import { parseJobSpec } from './job-file.js';
import { notEnforced, notOffered } from './not-offered.js';

/** Looks a project up in its stream, for one that the view has not seen yet. */
export const PROJECT_LOOKUP = Symbol('ProjectLookup');
export interface ProjectLookup {
  project(projectId: string): Promise<ProjectState>;
}

export interface Submission {
  readonly id: string;
  readonly evaluationId: string;
  readonly revision: string;
  readonly warnings: readonly string[];
}

/** Takes a job file in: names all its mistakes or stores one job, however often it is sent under one idempotency key. */
@Injectable()
export class JobSubmissions {
  constructor(
    private readonly commands: CommandBus,
    private readonly view: ClusterView,
    @Inject(PROJECT_LOOKUP) private readonly projects: ProjectLookup,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
  ) {}

  async submit(input: unknown, caller: Caller, key?: string): Promise<{ submission: Submission; position: bigint }> {
    const parsed = parseJobSpec(input);
    if (!parsed.ok) throw invalid(parsed.errors);
    const { spec } = parsed;
    const refused = notOffered(spec);
    if (refused.length > 0) throw invalid(refused);
    const project = await this.projectFor(spec.project, caller);
    const jobId = key === undefined ? this.ids.next() : keyedId(caller.account, key);
    const command = {
      type: 'SubmitJob' as const,
      jobId,
      spec,
      account: caller.account,
      institution: project.institution,
      evaluationId: this.ids.next(),
      fingerprint: canonicalFingerprint(spec),
      at: toInstant(this.clock.now()),
    };
    const context = { actor: caller.account, correlationId: command.evaluationId };
    const outcome: Handled<JobState> = await this.commands.execute(new ExecuteJob(jobId, command, context));
    const { state, position } = doneOrThrow(outcome);
    const request = plannedRequest({ jobId, spec, account: caller.account, institution: project.institution });
    const never = neverReasons(request, this.view.cluster).map(neverWarning);
    const warnings = [...parsed.warnings, ...notEnforced(spec), ...never];
    return { submission: { id: jobId, evaluationId: state.evaluationId, revision: '0', warnings }, position };
  }

  private async projectFor(projectId: string, caller: Caller): Promise<Pick<ProjectState, 'institution' | 'members'>> {
    const seen = this.view.cluster.projects.get(projectId);
    if (seen && isMember(seen, caller.account)) return seen;
    const project = await this.projects.project(projectId);
    if (!project.exists) throw new ProblemException('PROJECT_UNKNOWN', `there is no project ${projectId}`);
    if (isMember(project, caller.account) || caller.role === 'operator') return project;
    throw new ProblemException('PROJECT_NOT_MEMBER', `${caller.account} is no member of project ${projectId}`);
  }
}

const neverWarning = (reason: { readonly reason: string; readonly asked?: string; readonly best?: string }): string => {
  const values = [reason.asked && `asked ${reason.asked}`, reason.best && `best here ${reason.best}`].filter(Boolean);
  return `no enrolled node could ever run this: ${reason.reason}${values.length > 0 ? ` (${values.join(', ')})` : ''}`;
};

/** The same account and key always mean the same stream, so a second submission meets the first one there. */
const keyedId = (account: string, key: string): string => {
  const hex = createHash('sha256').update(`${account}\u0000${key}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
