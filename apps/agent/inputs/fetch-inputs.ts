import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AssignedInput } from '#contracts';
import type { Random, Timers } from '#kernel';
import { isTransient, Refused } from '../client/faults.js';
import type { Http } from '../client/http.js';
import { backoff, wait } from '../client/wait.js';
import { ExecutionFault, failure } from '../executions/ending.js';
import { insidePath } from '../runner/inside.js';
import type { CacheReport } from './cache-report.js';
import type { InputCache, Lease } from './input-cache.js';
import { artifactOfJob } from './job-results.js';
import { artifactOrigin, webOrigin } from './origins.js';
import { parseSource } from './source.js';
import type { InputSource } from './source.js';
import { transfer } from './transfer.js';
import type { Origin } from './transfer.js';
import type { WebClient } from './web-client.js';

interface InputLimits {
  /** Bytes of one input at most. */
  readonly largest: number;
  readonly allowHttp: boolean;
}

interface InputParts {
  readonly cache: InputCache;
  readonly report: CacheReport;
  readonly http: Http;
  readonly web: WebClient;
  readonly limits: InputLimits;
  readonly timers: Timers;
  readonly random: Random;
}

interface Wanted {
  readonly input: AssignedInput;
  readonly source: InputSource;
  readonly target: string;
}

/** Hears of fetched bytes. */
type Received = (bytes: number) => void;

const fault = (code: string, message: string): ExecutionFault => new ExecutionFault(failure('input', code, message));

/** Brings executions' inputs into their folders, and keeps what was fetched for as long as they need it. */
export class InputFetcher {
  private readonly stopped = new AbortController();
  private readonly leases = new Map<string, Lease[]>();

  constructor(private readonly parts: InputParts) {}

  /** Whether anything has to come over the network. */
  anyMissing(inputs: readonly AssignedInput[]): boolean {
    return inputs.some((input) => {
      const sha256 = parseSource(input, this.parts.limits.allowHttp)?.sha256;
      return sha256 === undefined || !this.parts.cache.has(sha256);
    });
  }

  /**
   * Places all inputs of an execution below `work`; what cannot be had is an `ExecutionFault`. After `signal` aborts no
   * further input is begun; one being fetched goes on, as others may want it too. What is cached stays so until `release`.
   */
  async place(
    executionId: string,
    inputs: readonly AssignedInput[],
    work: string,
    received: Received,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = inputs.map((input) => this.wanted(input, work));
    this.leases.set(executionId, []);
    for (const want of wanted) if (!signal.aborted) await this.placeOne(executionId, want, received);
  }

  /** Keeps cached what an execution was given by an earlier agent. */
  adopt(executionId: string, inputs: readonly AssignedInput[]): void {
    const digests = inputs.flatMap((input) => parseSource(input, this.parts.limits.allowHttp)?.sha256 ?? []);
    this.leases.set(
      executionId,
      digests.flatMap((sha256) => this.parts.cache.leaseHeld(sha256) ?? []),
    );
  }

  /** The execution needs its inputs no longer. */
  release(executionId: string): void {
    for (const lease of this.leases.get(executionId) ?? []) lease.release();
    this.leases.delete(executionId);
  }

  /** Gives up what is being fetched, for the agent's end. */
  async stop(): Promise<void> {
    this.stopped.abort();
    this.parts.report.stop();
    await this.parts.web.close();
  }

  private wanted(input: AssignedInput, work: string): Wanted {
    const path = insidePath(input.path);
    if (path === undefined) throw fault('input-path', `the input's path ${input.path} is not inside the task's folder`);
    const source = parseSource(input, this.parts.limits.allowHttp);
    if (!source) throw fault('input-source', `no way to fetch ${input.source}`);
    return { input, source, target: join(work, path) };
  }

  private async placeOne(executionId: string, { source, target }: Wanted, received: Received): Promise<void> {
    switch (source.kind) {
      case 'artifact':
        return this.placeDigest(
          executionId,
          source.sha256,
          artifactOrigin(this.parts.http, source.sha256),
          target,
          received,
        );
      case 'job': {
        const sha256 = source.sha256 ?? (await this.digestOfResult(source.jobId, source.path));
        return this.placeDigest(executionId, sha256, artifactOrigin(this.parts.http, sha256), target, received);
      }
      case 'web': {
        const origin = webOrigin(this.parts.web, source.url);
        if (source.sha256 === undefined) return this.placeUncached(origin, target, received);
        return this.placeDigest(executionId, source.sha256, origin, target, received);
      }
    }
  }

  private async placeDigest(
    executionId: string,
    sha256: string,
    origin: Origin,
    target: string,
    received: Received,
  ): Promise<void> {
    const fill = (path: string): Promise<void> => this.fetch(origin, path, sha256, received);
    const lease = await this.parts.cache.lease(sha256, { from: origin.name, fill });
    const leases = this.leases.get(executionId);
    try {
      await this.parts.cache.copy(lease, target);
    } finally {
      // Released meanwhile: nobody would give this one back.
      if (leases && this.leases.get(executionId) === leases) leases.push(lease);
      else lease.release();
    }
  }

  /** What has no digest is fetched for each task anew: it may be something else by now. */
  private async placeUncached(origin: Origin, target: string, received: Received): Promise<void> {
    const partial = await this.parts.cache.temporary();
    try {
      await this.fetch(origin, partial, undefined, received);
      await mkdir(dirname(target), { recursive: true });
      await rename(partial, target);
    } finally {
      await rm(partial, { force: true });
    }
  }

  private fetch(origin: Origin, path: string, sha256: string | undefined, received: Received): Promise<void> {
    const what = { origin, path, sha256, limit: this.parts.limits.largest, received };
    return transfer(what, this.parts.timers, this.parts.random, this.stopped.signal);
  }

  /** Asks as long as our own server is away: the node is no better off anywhere else. */
  private async digestOfResult(jobId: string, path: string): Promise<string> {
    for (let failures = 0; ; failures += 1) {
      try {
        const sha256 = await artifactOfJob(this.parts.http, jobId, path);
        if (sha256 === undefined) throw fault('input-missing', `job ${jobId} has no result ${path}`);
        return sha256;
      } catch (error) {
        this.stopped.signal.throwIfAborted();
        if (error instanceof Refused && !isTransient(error))
          throw fault('input-refused', `job:${jobId}/${path} cannot be fetched: ${error.message}`);
        if (!isTransient(error)) throw error;
        await wait(this.parts.timers, backoff(failures, this.parts.random), this.stopped.signal);
      }
    }
  }
}
