import { Injectable } from '@nestjs/common';
import { LocalArtifactStore } from '#artifacts';
import { isEndless } from '../domain/job-spec.js';
import type { InputRequest, JobSpec } from '../domain/job-spec.js';
import { resultAt, resultNamed } from '../domain/left-behind.js';
import type { JobState } from '../domain/state.js';
import { JobAccess } from './job-access.js';

/** A job with what is known of its inputs, and what its submitter should know of them. */
interface Known {
  readonly spec: JobSpec;
  readonly warnings: readonly string[];
}

interface KnownInput {
  readonly input: InputRequest;
  /** The job that is to leave it behind, and has not ended. */
  readonly awaits?: string;
  readonly warning?: string;
}

/**
 * Looks at submission what is known of a job's inputs. What another job has left for good is pinned to its digest, so that the
 * run can be derived again; sizes tell placement what a node would have to fetch. What a job is still to leave is a dependency on
 * its completion, unless the file says what is waited for of it.
 */
@Injectable()
export class KnownInputs {
  constructor(
    private readonly artifacts: LocalArtifactStore,
    private readonly access: JobAccess,
  ) {}

  async of(spec: JobSpec): Promise<Known> {
    const jobs = new Map<string, Promise<JobState>>();
    const load = (id: string): Promise<JobState> => {
      const loading = jobs.get(id) ?? this.access.load(id).then(({ state }) => state);
      jobs.set(id, loading);
      return loading;
    };
    const known = await Promise.all(spec.inputs.map((input, index) => this.known(input, index, load)));
    const awaited = [...new Set(known.flatMap(({ awaits }) => awaits ?? []))];
    const implied = awaited.filter((job) => !spec.dependsOn.some((dependency) => dependency.job === job));
    const dependsOn = [...spec.dependsOn, ...implied.map((job) => ({ job, when: 'completed' as const }))];
    return {
      spec: { ...spec, inputs: known.map(({ input }) => input), dependsOn },
      warnings: known.flatMap(({ warning }) => warning ?? []),
    };
  }

  private async known(
    input: InputRequest,
    index: number,
    load: (jobId: string) => Promise<JobState>,
  ): Promise<KnownInput> {
    const [, digest] = /^sha256:(.+)$/.exec(input.source) ?? [];
    if (digest !== undefined) return this.stored(input, index, digest);
    const result = resultNamed(input.source);
    return result ? leftBehind(input, index, await load(result.job), result.path) : { input };
  }

  private async stored(input: InputRequest, index: number, digest: string): Promise<KnownInput> {
    const size = await this.artifacts.size(digest);
    return size === undefined
      ? { input, warning: `/inputs/${index}: the artifact store does not have this content yet` }
      : { input: { ...input, size } };
  }
}

/** What has an end may still leave another file there until then; a service or a daemon is not waited for. */
const leftBehind = (input: InputRequest, index: number, job: JobState, path: string): KnownInput => {
  if (!job.ended) return job.spec && isEndless(job.spec.type) ? { input } : { input, awaits: job.jobId };
  const result = resultAt(job, path);
  if (!result) return { input, warning: `/inputs/${index}: job ${job.jobId} has ended and left no ${path}` };
  if (input.sha256 !== undefined && input.sha256 !== result.sha256)
    return {
      input,
      warning: `/inputs/${index}: job ${job.jobId} left ${path} with sha256 ${result.sha256}, not with this`,
    };
  return { input: { ...input, sha256: result.sha256, size: result.size } };
};
