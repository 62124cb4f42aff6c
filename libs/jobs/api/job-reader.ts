import { Inject, Injectable } from '@nestjs/common';
import type { ProblemCode, ProblemItem } from '#contracts';
import { ProblemException, invalid } from '#platform/http';
import type { Caller } from '#platform/http';
import { isRecord } from '#platform/validation';
import { isMember } from '#projects';
import type { ProjectState } from '#projects';
import { ClusterView } from '#scheduling';
import type { JobSpec } from '../domain/job-spec.js';
import { JobAccess } from './job-access.js';
import { parseJobSpec } from './job-file.js';
import { notOffered } from './not-offered.js';

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
};

/** Reads job files together with what they refer to, so that one answer names all mistakes of either kind. */
@Injectable()
export class JobReader {
  constructor(
    private readonly view: ClusterView,
    private readonly access: JobAccess,
    @Inject(PROJECT_LOOKUP) private readonly projects: ProjectLookup,
  ) {}

  /** Throws the problem that names every mistake. */
  async read(input: unknown, caller: Caller): Promise<ReadJob> {
    const parsed = parseJobSpec(input);
    const wrong = parsed.ok ? notOffered(parsed.spec) : parsed.errors;
    const { project, sources } = referencesOf(input, wrong);
    const found = project === undefined ? undefined : await this.projectFor(project, caller);
    const mistakes = [
      ...wrong,
      ...(found && 'mistake' in found ? [found.mistake] : []),
      ...(await this.unknownSources(sources, caller)),
    ];
    if (mistakes.length > 0) throw refusal(mistakes);
    if (!parsed.ok || !found || 'mistake' in found) throw new Error('a job file without mistakes was not read');
    return { spec: parsed.spec, institution: found.institution, warnings: parsed.warnings };
  }

  /** A job may take files only of jobs that its submitter may see. */
  private async unknownSources(sources: readonly Source[], caller: Caller): Promise<ProblemItem[]> {
    const mistakes: ProblemItem[] = [];
    const seen = new Map<string, boolean>();
    for (const { pointer, job } of sources) {
      const visible = seen.get(job) ?? (await this.access.canSee(job, caller));
      seen.set(job, visible);
      if (visible) continue;
      mistakes.push({ pointer, code: 'UNKNOWN_JOB', message: `names job ${job}, which is not there` });
    }
    return mistakes;
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

/** An input that another job leaves behind. */
interface Source {
  readonly pointer: string;
  readonly job: string;
}

/** What a job file refers to where it is written as it should be, whatever is wrong elsewhere in it. */
const referencesOf = (
  input: unknown,
  wrong: readonly ProblemItem[],
): { readonly project: string | undefined; readonly sources: readonly Source[] } => {
  const faulty = new Set(wrong.map(({ pointer }) => pointer));
  if (!isRecord(input) || faulty.has('')) return { project: undefined, sources: [] };
  const { project, inputs } = input;
  const sources = (Array.isArray(inputs) && !faulty.has('/inputs') ? (inputs as unknown[]) : []).flatMap(
    (one, index) => {
      const pointer = `/inputs/${String(index)}/source`;
      const source = isRecord(one) && !faulty.has(pointer) ? one.source : undefined;
      const job = typeof source === 'string' ? /^job:([^/]+)\//.exec(source)?.[1] : undefined;
      return job === undefined ? [] : [{ pointer, job }];
    },
  );
  return { project: typeof project === 'string' && !faulty.has('/project') ? project : undefined, sources };
};

/** Mistakes of one kind have the problem of that kind; together with others they are mistakes of the request. */
const refusal = (mistakes: readonly ProblemItem[]): ProblemException => {
  const [code, ...others] = new Set(mistakes.map((mistake) => PROBLEM_OF[mistake.code] ?? 'VALIDATION_FAILED'));
  if (code === undefined || code === 'VALIDATION_FAILED' || others.length > 0) return invalid(mistakes);
  const detail = mistakes.map(({ pointer, message }) => `${pointer} ${message}`).join('; ');
  return new ProblemException(code, detail.slice(0, 2000), { errors: mistakes });
};
