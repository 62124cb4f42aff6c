import { Injectable } from '@nestjs/common';
import type { ProblemItem } from '#contracts';
import type { Caller } from '#platform/http';
import { isRecord } from '#platform/validation';
import { impossible, isMet } from '../domain/dependencies.js';
import { isEndless } from '../domain/job-spec.js';
import type { Dependency } from '../domain/job-spec.js';
import type { JobState } from '../domain/state.js';
import { JobAccess } from './job-access.js';

/** A place of a job file that names another job: an input that the other leaves behind, or a dependency on its end. */
interface Parent {
  readonly pointer: string;
  readonly job: string;
  /** What is waited for; absent for an input. */
  readonly when?: Dependency['when'];
}

const ENDS: readonly unknown[] = ['completed', 'failed', 'terminal'] satisfies Dependency['when'][];

/** Checks the jobs that a job file names. */
@Injectable()
export class Parents {
  constructor(private readonly access: JobAccess) {}

  /**
   * Every mistake in what is written as it should be, whatever is wrong elsewhere: jobs that are not there, or not for the
   * caller, and ends that can never come. `submitted` are those that are submitted together with this one.
   */
  async mistakes(
    input: unknown,
    wrong: readonly ProblemItem[],
    caller: Caller,
    submitted: ReadonlySet<string>,
  ): Promise<ProblemItem[]> {
    const parents = parentsIn(input, wrong).filter(({ job }) => !submitted.has(job));
    const ids = [...new Set(parents.map(({ job }) => job))];
    const seen = new Map(await Promise.all(ids.map(async (id) => [id, await this.access.see(id, caller)] as const)));
    return parents.flatMap((parent) => mistakesOf(parent, seen.get(parent.job)));
  }
}

const mistakesOf = ({ pointer, job, when }: Parent, state: JobState | undefined): ProblemItem[] => {
  if (!state) return [{ pointer, code: 'UNKNOWN_JOB', message: `names job ${job}, which is not there` }];
  if (when === undefined) return [];
  if (state.ended && !isMet({ job, when }, state.ended))
    return [{ pointer, code: 'IMPOSSIBLE', message: impossible({ job, when }, state.ended).message }];
  return state.ended || !state.spec ? [] : neverCompletes({ pointer, job, when }, state.spec.type);
};

/** What goes on until it is stopped ends otherwise than by completing. */
export const neverCompletes = (
  { pointer, job, when }: Required<Parent>,
  type: Parameters<typeof isEndless>[0],
): ProblemItem[] =>
  when === 'completed' && isEndless(type)
    ? [{ pointer, code: 'IMPOSSIBLE', message: `waits for job ${job} to be completed, and a ${type} never is` }]
    : [];

const parentsIn = (input: unknown, wrong: readonly ProblemItem[]): Parent[] => {
  const faulty = new Set(wrong.map(({ pointer }) => pointer));
  if (!isRecord(input) || faulty.has('')) return [];
  const entries = (name: string): readonly (readonly [unknown, number])[] =>
    Array.isArray(input[name]) && !faulty.has(`/${name}`)
      ? (input[name] as unknown[]).map((one, index) => [one, index] as const)
      : [];
  return [
    ...entries('dependsOn').flatMap(([one, index]) => dependencyIn(one, `/dependsOn/${String(index)}`, faulty)),
    ...entries('inputs').flatMap(([one, index]) => inputIn(one, `/inputs/${String(index)}/source`, faulty)),
  ];
};

const dependencyIn = (one: unknown, at: string, faulty: ReadonlySet<string>): Parent[] => {
  if (!isRecord(one) || typeof one.job !== 'string' || faulty.has(at) || faulty.has(`${at}/job`)) return [];
  const { job, when = 'completed' } = one;
  return [{ pointer: `${at}/job`, job, ...(ENDS.includes(when) ? { when: when as Dependency['when'] } : {}) }];
};

const inputIn = (one: unknown, pointer: string, faulty: ReadonlySet<string>): Parent[] => {
  const source = isRecord(one) && !faulty.has(pointer) ? one.source : undefined;
  const job = typeof source === 'string' ? /^job:([^/]+)\//.exec(source)?.[1] : undefined;
  return job === undefined ? [] : [{ pointer, job }];
};
