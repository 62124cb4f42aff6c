import { toInstant } from '#kernel';
import type { Instant, Millis } from '#kernel';
import type { JobEvent, JobSpec, Weights } from '#jobs';
import type { Contract, NodeEvent } from '#nodes';
import type { ProjectConfigured } from '#projects';
import { applyEvent } from '../cluster/apply.js';
import { emptyCluster } from '../cluster/state.js';
import type { ClusterState } from '../cluster/state.js';
import { decide } from '../decide.js';
import type { Placement } from '../decide.js';
import { reasonsDigest } from '../digest.js';
import { requestOf } from '../request.js';
import type { TraceJob, TraceNode } from './trace.js';

type AnyEvent = JobEvent | NodeEvent | ProjectConfigured;

const MIB = 1024 ** 2;
const PROJECT = 'trace';
const INSTITUTION = 'trace';
const CONFIRM_SECONDS = 15;

/** How jobs are weighed: by a profile, by weights, or as each job's estimate suggests. */
export interface Weighing {
  readonly profile?: string;
  readonly weights?: Weights;
}

/** Where a job runs. */
export interface Run {
  readonly jobId: string;
  readonly nodeId: string;
  readonly executionId: string;
}

/** A cluster on which everything happens as events, decided by the real placement, with nobody but the trace to wait for. */
export class RecordedCluster {
  readonly cluster: ClusterState = emptyCluster();
  private readonly revisions = new Map<string, bigint>();
  private position = -1n;

  constructor(private readonly weighing: Weighing) {
    const data = {
      projectId: PROJECT,
      institution: INSTITUTION,
      members: ['*'],
      quota: {},
      weight: 1,
      at: toInstant(0),
    };
    this.record(`project-${PROJECT}`, { type: 'ProjectConfigured', data });
  }

  /** The trace tells no memory of devices, so it never decides. */
  enrol({ name, cpuMilli, memoryMib, gpus, model }: TraceNode): void {
    const at = toInstant(0);
    const inventory = {
      os: 'linux',
      architecture: 'x64',
      cpu: cpuMilli / 1000,
      memory: memoryMib * MIB,
      disk: 0,
      ioSlots: 0,
      gpus: Array.from({ length: gpus }, (_, index) => ({ id: `gpu-${index}`, model, memory: 0 })),
      applications: [],
      packages: [],
      labels: {},
    };
    const data = { nodeId: name, name, owner: 'trace', institution: INSTITUTION, inventory, policy: {}, at };
    this.record(`node-${name}`, { type: 'NodeEnrolled', data });
    this.record(`node-${name}`, { type: 'NodeWentOnline', data: { at } });
  }

  submit(job: TraceJob, at: Millis): void {
    this.record(`job-${job.name}`, {
      type: 'JobSubmitted',
      data: {
        jobId: job.name,
        spec: specOf(job, this.weighing),
        account: 'trace',
        institution: INSTITUTION,
        evaluationId: job.name,
        fingerprint: job.name,
        at: toInstant(at),
      },
    });
  }

  /** Decides, and records what came of it as the scheduler does: a deferral only when its reasons are new. */
  place(jobId: string, trigger: string, at: Millis): { readonly placement: Placement; readonly run: Run | undefined } {
    const job = this.cluster.jobs.get(jobId);
    if (!job) throw new Error(`${jobId} is no live job`);
    const time = toInstant(at);
    const context = { number: job.decisions + 1, evaluationId: jobId, trigger, partition: 0, time };
    const placement = decide(requestOf(job, 0), this.cluster, context);
    const { decision, nodeId, contract } = placement;
    if (nodeId !== undefined && contract)
      return { placement, run: this.reserve(jobId, nodeId, contract, placement, time) };
    if (job.lastDecision?.digest !== reasonsDigest(decision)) {
      this.record(`job-${jobId}`, { type: 'PlacementDecided', data: decision });
    }
    return { placement, run: undefined };
  }

  /** The task ends well and gives back what it held. */
  end({ jobId, nodeId, executionId }: Run, at: Millis): void {
    const time = toInstant(at);
    const data = { executionId, exitCode: 0, artifacts: [], consumption: NOTHING, at: time };
    this.record(`job-${jobId}`, { type: 'ExecutionSucceeded', data });
    this.record(`job-${jobId}`, { type: 'JobCompleted', data: { at: time } });
    this.record(`node-${nodeId}`, { type: 'CapacityReleased', data: { executionId, cause: 'succeeded', at: time } });
  }

  private reserve(jobId: string, nodeId: string, contract: Contract, { decision }: Placement, at: Instant): Run {
    const executionId = `${jobId}.1`;
    const confirmBy = toInstant(Date.parse(at) + CONFIRM_SECONDS * 1000);
    const claim = { executionId, jobId, project: PROJECT, contract, expiresAt: confirmBy, at };
    const granted = { executionId, partition: 0, attempt: 1, nodeId, fencingToken: 1, contract, confirmBy, at };
    this.record(`node-${nodeId}`, { type: 'CapacityReserved', data: claim });
    this.record(`job-${jobId}`, { type: 'PlacementDecided', data: decision });
    this.record(`job-${jobId}`, { type: 'ExecutionReserved', data: granted });
    this.record(`job-${jobId}`, { type: 'ReservationConfirmed', data: { executionId, at } });
    this.record(`job-${jobId}`, { type: 'ExecutionStarted', data: { executionId, at } });
    return { jobId, nodeId, executionId };
  }

  private record(stream: string, { type, data }: AnyEvent): void {
    const revision = (this.revisions.get(stream) ?? -1n) + 1n;
    this.revisions.set(stream, revision);
    this.position += 1n;
    applyEvent(this.cluster, { stream, revision, position: this.position, type, data });
  }
}

const NOTHING = { cpuSeconds: 0, wallSeconds: 0, maxMemory: 0, maxDisk: 0, gpuSeconds: 0, bytesIn: 0, bytesOut: 0 };

const specOf = (job: TraceJob, { profile, weights }: Weighing): JobSpec => ({
  name: job.name,
  project: PROJECT,
  type: 'batch',
  count: 1,
  priority: 50,
  packages: [],
  architecture: [],
  constraints: [],
  preferences: [],
  resources: {
    cpu: job.cpuMilli / 1000,
    memory: job.memoryMib * MIB,
    disk: 0,
    ioSlots: 0,
    ...(job.gpus > 0 && { gpu: { count: job.gpus, share: job.gpuMilli / 1000, models: job.models } }),
  },
  estimate: {},
  task: { command: [], env: {} },
  inputs: [],
  outputs: [],
  dependsOn: [],
  retry: { attempts: 1, backoff: 'constant', interval: 1, maxInterval: 1, on: [] },
  timeouts: { confirm: CONFIRM_SECONDS },
  labels: {},
  ...(profile !== undefined && { profile }),
  ...(weights !== undefined && { weights }),
});
