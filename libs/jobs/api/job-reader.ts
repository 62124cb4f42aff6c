import { Inject, Injectable } from '@nestjs/common';
import type { ProblemCode, ProblemItem } from '#contracts';
import { ProblemException, invalid } from '#platform/http';
import type { Caller } from '#platform/http';
import { isRecord } from '#platform/validation';
import { isMember } from '#projects';
import type { ProjectState } from '#projects';
import { ClusterView } from '#scheduling';
import type { JobSpec } from '../domain/job-spec.js';
import { parseJobSpec } from './job-file.js';
import { Parents } from './parents.js';

/** Looks a project up in its stream, for one that the view has not seen yet. */
export const PROJECT_LOOKUP = Symbol('ProjectLookup');
export interface ProjectLookup {
  project(projectId: string): Promise<ProjectState>;
}

/** A job file that may be submitted. */
export interface ReadJob {
  readonly spec: JobSpec;
  /** Of its project. */
  readonly institution: string;
  readonly warnings: readonly string[];
}

/** Mistakes that have a problem of their own when nothing else is wrong. */
const PROBLEM_OF: Readonly<Record<string, ProblemCode>> = {
  PROJECT_UNKNOWN: 'PROJECT_UNKNOWN',
  PROJECT_NOT_MEMBER: 'PROJECT_NOT_MEMBER',
  UNKNOWN_JOB: 'DEPENDENCY_UNKNOWN',
  IMPOSSIBLE: 'DEPENDENCY_IMPOSSIBLE',
  CYCLE: 'DEPENDENCY_CYCLE',
};

/** Reads job files together with what they refer to, so that one answer names all mistakes of either kind. */
@Injectable()
export class JobReader {
  constructor(
    private readonly view: ClusterView,
    private readonly parents: Parents,
    @Inject(PROJECT_LOOKUP) private readonly projects: ProjectLookup,
  ) {}

  /** Throws the problem that names every mistake. `submitted` are the jobs that are submitted together with this one. */
  async read(input: unknown, caller: Caller, submitted: ReadonlySet<string> = new Set()): Promise<ReadJob> {
    const parsed = parseJobSpec(input);
    const wrong = parsed.ok ? [] : parsed.errors;
    const project = projectOf(input, wrong);
    const found = project === undefined ? undefined : await this.projectFor(project, caller);
    const mistakes = [
      ...wrong,
      ...(found && 'mistake' in found ? [found.mistake] : []),
      ...(await this.parents.mistakes(input, wrong, caller, submitted)),
    ];
    if (mistakes.length > 0) throw refusal(mistakes);
    if (!parsed.ok || !found || 'mistake' in found) throw new Error('a job file without mistakes was not read');
    return { spec: parsed.spec, institution: found.institution, warnings: parsed.warnings };
  }

  private async projectFor(
    projectId: string,
    caller: Caller,
  ): Promise<Pick<ProjectState, 'institution'> | { readonly mistake: ProblemItem }> {
    const seen = this.view.cluster.projects.get(projectId);
    if (seen && isMember(seen, caller.account)) return seen;
    const project = await this.projects.project(projectId);
    const mistake = (code: string, message: string) => ({ mistake: { pointer: '/project', code, message } });
    if (!project.exists) return mistake('PROJECT_UNKNOWN', `names ${projectId}, which is no project`);
    if (isMember(project, caller.account) || caller.role === 'operator') return project;
    return mistake('PROJECT_NOT_MEMBER', `names ${projectId}, and ${caller.account} is no member of it`);
  }
}

/** What a job file names as its project, where that is written as it should be. */
const projectOf = (input: unknown, wrong: readonly ProblemItem[]): string | undefined => {
  const faulty = wrong.some(({ pointer }) => pointer === '' || pointer === '/project');
  return isRecord(input) && typeof input.project === 'string' && !faulty ? input.project : undefined;
};

/** Mistakes of one kind have the problem of that kind; together with others they are mistakes of the request. */
export const refusal = (mistakes: readonly ProblemItem[]): ProblemException => {
  const [code, ...others] = new Set(mistakes.map((mistake) => PROBLEM_OF[mistake.code] ?? 'VALIDATION_FAILED'));
  if (code === undefined || code === 'VALIDATION_FAILED' || others.length > 0) return invalid(mistakes);
  const detail = mistakes.map(({ pointer, message }) => `${pointer} ${message}`).join('; ');
  return new ProblemException(code, detail.slice(0, 2000), { errors: mistakes });
};
