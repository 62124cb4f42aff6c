import { Inject, Injectable } from '@nestjs/common';
import { ProblemException } from '#platform/http';
import type { Caller } from '#platform/http';
import { isMember } from '#projects';
import { ClusterView } from '#scheduling';
import { jobStream } from '../domain/events.js';
import type { JobState } from '../domain/state.js';
import { JOB_COMMANDS } from '../write/execute-job.js';
import type { JobCommands } from '../write/execute-job.js';

/** Who may see and change a job: its account and its project's members; operators and auditors see everything. */
@Injectable()
export class JobAccess {
  constructor(
    private readonly view: ClusterView,
    @Inject(JOB_COMMANDS) private readonly jobs: JobCommands,
  ) {}

  /** Undefined when the caller sees every project's jobs. */
  visibleProjects(caller: Caller): readonly string[] | undefined {
    if (caller.role !== 'researcher') return undefined;
    const projects = [...this.view.cluster.projects.values()];
    return projects.filter((project) => isMember(project, caller.account)).map(({ id }) => id);
  }

  /** The job as its stream has it. One that the caller may not see is as good as absent. */
  async maySee(jobId: string, caller: Caller): Promise<{ state: JobState; revision: bigint }> {
    const { state, revision } = await this.jobs.load(jobStream(jobId));
    const visible = this.visibleProjects(caller);
    const allowed = !visible || state.account === caller.account || visible.includes(state.spec?.project ?? '');
    if (
      !state.exists ||
      revision === undefined ||
      !allowed ||
      (caller.role === 'node' && !runsOn(state, caller) && !this.feeds(jobId, caller))
    ) {
      throw new ProblemException('JOB_NOT_FOUND', `there is no job ${jobId}`);
    }
    return { state, revision };
  }

  /** The job, or undefined when there is none that the caller may see. */
  async see(jobId: string, caller: Caller): Promise<JobState | undefined> {
    try {
      return (await this.maySee(jobId, caller)).state;
    } catch (error) {
      if (error instanceof ProblemException && error.problem.code === 'JOB_NOT_FOUND') return undefined;
      throw error;
    }
  }

  /** The job's present state, for one whom `maySee` let through before. */
  load(jobId: string): ReturnType<JobCommands['load']> {
    return this.jobs.load(jobStream(jobId));
  }

  /** A node fetches what other jobs left behind for those it runs. */
  private feeds(jobId: string, { nodeId }: Caller): boolean {
    const { live, jobs } = this.view.cluster;
    const running = [...(live.get(nodeId ?? '')?.values() ?? [])];
    return running.some((one) =>
      jobs.get(one.jobId)?.spec.inputs.some(({ source }) => source.startsWith(`job:${jobId}/`)),
    );
  }

  async mayChange(jobId: string, caller: Caller): Promise<void> {
    await this.maySee(jobId, caller);
  }
}

const runsOn = (job: JobState, caller: Caller): boolean =>
  Object.values(job.executions).some(({ nodeId }) => nodeId === caller.nodeId);
