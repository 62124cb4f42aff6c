import { accept, reject } from '#kernel';
import type { Decision as Decided } from '#kernel';
import type { MeetDependencies } from './commands.js';
import type { JobEvent, JobOutcome } from './events.js';
import type { Dependency } from './job-spec.js';
import type { Ending, JobState } from './state.js';

/* What a job that waits for others makes of their ends. */

/** Whether an end is what the dependency waits for; an end that is not can never become it. */
export const isMet = ({ when }: Dependency, outcome: JobOutcome): boolean => when === 'terminal' || when === outcome;

/** In words, what is waited for. */
export const awaitedEnd = ({ when }: Pick<Dependency, 'when'>): string => (when === 'terminal' ? 'ended' : when);

/** How a job ends that waits for an end which did not come; `outcome` is undefined where there is no such job. */
export const impossible = (dependency: Dependency, outcome: JobOutcome | undefined): Ending => ({
  class: 'policy',
  code: 'dependency-impossible',
  message:
    outcome === undefined
      ? `waits for job ${dependency.job}, which is not there`
      : `waits for job ${dependency.job} to be ${awaitedEnd(dependency)}, and it is ${outcome}`,
});

/** All of them at once, or none: a job of which one parent is still awaited stays where it is. Late or repeated is no mistake. */
export const meetDependencies = (
  { dependencies, inputs = [], at }: MeetDependencies,
  job: JobState,
): Decided<JobEvent> => {
  if (job.ended || job.cancelRequested !== undefined || !job.blocked) return accept();
  const outcomes = new Map(dependencies.map(({ job: parent, outcome }) => [parent, outcome]));
  const open = (job.spec?.dependsOn ?? []).filter((dependency) => {
    const outcome = outcomes.get(dependency.job);
    return outcome === undefined || !isMet(dependency, outcome);
  });
  if (open.length > 0) {
    const awaited = open.map((dependency) => `${dependency.job} to be ${awaitedEnd(dependency)}`).join(', ');
    return reject('DEPENDENCY_NOT_MET', `the job still waits for job ${awaited}`);
  }
  return accept({ type: 'DependenciesMet', data: { dependencies, ...(inputs.length > 0 && { inputs }), at } });
};
