import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AssignedInput } from '#contracts';
import type { Random, Timers } from '#kernel';
import { isTransient, Refused } from '../client/faults.js';
import type { Http } from '../client/http.js';
import { backoff, unlessAborted, wait } from '../client/wait.js';
import { ExecutionFault, failure } from '../executions/ending.js';
import { diskUsage } from '../metering/disk-usage.js';
import { insidePath } from '../runner/inside.js';
import type { CacheReport } from './cache-report.js';
import { placeTaken } from './free-place.js';
import type { InputCache, Lease } from './input-cache.js';
import { artifactOfJob } from './job-results.js';
import { artifactOrigin, webOrigin } from './origins.js';
import { parseSource } from './source.js';
import type { InputSource } from './source.js';
import { transfer } from './transfer.js';
import type { Origin } from './transfer.js';
import type { UnpackLimits } from './unpack/folder-writer.js';
import { unpack } from './unpack/unpack.js';
import type { WebClient } from './web-client.js';

interface InputLimits {
  /** Bytes of one input at most. */
  readonly largest: number;
  /** Bytes that an archive may unpack to at most, and files, folders and links. */
  readonly largestUnpacked: number;
  readonly mostUnpacked: number;
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
  /** In its normal form, inside the task's folder. */
  readonly path: string;
  readonly target: string;
}

/** Inputs of an execution, and where they go. */
export interface Placing {
  readonly executionId: string;
  readonly inputs: readonly AssignedInput[];
  /** The task's folder. */
  readonly work: string;
  /** Bytes that the contract allows in it; absent, no bound. */
  readonly disk: number | undefined;
  /** Hears of bytes fetched. */
  readonly received: (bytes: number) => void;
  /** Hears how much the folder takes, when an archive was unpacked. */
  readonly sawDisk: (bytes: number) => void;
}

type Received = Placing['received'];

/** Where the bytes come from, and what they must have when that is known. */
interface Found {
  readonly sha256: string | undefined;
  readonly origin: Origin;
}

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
   * Places all inputs of an execution below its folder; what cannot be had is an `ExecutionFault`. After `signal` aborts it
   * resolves soon, with no archive still being unpacked; what is being fetched goes on, as others may want it too. What is
   * cached stays so until `release`.
   */
  async place(placing: Placing, signal: AbortSignal): Promise<void> {
    const wanted = placing.inputs.map((input) => this.wanted(input, placing.work));
    this.leases.set(placing.executionId, []);
    for (const want of wanted) if (!signal.aborted) await this.placeOne(placing, want, signal);
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
    return { input, source, path, target: join(work, path) };
  }

  private async placeOne(placing: Placing, want: Wanted, signal: AbortSignal): Promise<void> {
    const taken = await placeTaken(placing.work, want.path, want.input.unpack === true);
    if (taken !== undefined) throw fault('input-path', taken);
    const found = await unlessAborted(this.find(want.source), signal);
    if (!found) return;
    const { sha256, origin } = found;
    if (sha256 === undefined) await this.placeUncached(placing, want, origin, signal);
    else await this.placeDigest(placing, want, sha256, origin, signal);
  }

  private async find(source: InputSource): Promise<Found> {
    switch (source.kind) {
      case 'artifact':
        return { sha256: source.sha256, origin: artifactOrigin(this.parts.http, source.sha256) };
      case 'job': {
        const sha256 = source.sha256 ?? (await this.digestOfResult(source.jobId, source.path));
        return { sha256, origin: artifactOrigin(this.parts.http, sha256) };
      }
      case 'web':
        return { sha256: source.sha256, origin: webOrigin(this.parts.web, source.url) };
    }
  }

  private async placeDigest(
    placing: Placing,
    want: Wanted,
    sha256: string,
    origin: Origin,
    signal: AbortSignal,
  ): Promise<void> {
    const { executionId, received } = placing;
    const fill = (path: string): Promise<void> => this.fetch(origin, path, sha256, received);
    const leasing = this.parts.cache.lease(sha256, { from: origin.name, fill });
    const lease = await unlessAborted(leasing, signal);
    // Nobody waits for it any more, but it comes.
    if (!lease) return void leasing.then((late) => late.release()).catch(() => undefined);
    const leases = this.leases.get(executionId);
    try {
      await this.parts.cache.used(lease);
      if (want.input.unpack) await this.unpack(placing, want, lease.path, signal);
      else await unlessAborted(this.parts.cache.copy(lease, want.target), signal);
    } finally {
      // Released meanwhile: nobody would give this one back.
      if (leases && this.leases.get(executionId) === leases) leases.push(lease);
      else lease.release();
    }
  }

  /** What has no digest is fetched for each task anew: it may be something else by now. */
  private async placeUncached(placing: Placing, want: Wanted, origin: Origin, signal: AbortSignal): Promise<void> {
    const partial = await this.parts.cache.temporary();
    const fetching = this.fetch(origin, partial, undefined, placing.received);
    const over = fetching.then(
      () => true,
      () => true,
    );
    try {
      if (!(await unlessAborted(over, signal))) return;
      await fetching;
      if (want.input.unpack) await this.unpack(placing, want, partial, signal);
      else await this.move(partial, want.target);
    } finally {
      const cleared = over.then(() => rm(partial, { force: true }));
      if (!signal.aborted) await cleared;
    }
  }

  private async move(from: string, to: string): Promise<void> {
    await mkdir(dirname(to), { recursive: true });
    await rename(from, to);
  }

  /** Not even what is half written goes on being written once it has resolved. */
  private async unpack(placing: Placing, want: Wanted, archive: string, signal: AbortSignal): Promise<void> {
    const used = await diskUsage(placing.work);
    const limits = this.unpackLimits(placing.disk === undefined ? Infinity : Math.max(0, placing.disk - used));
    const written = (bytes: number): void => placing.sawDisk(used + bytes);
    try {
      await unpack({ archive, folder: want.target, name: want.input.path, limits, written }, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  private unpackLimits(left: number): UnpackLimits {
    const { largestUnpacked, mostUnpacked } = this.parts.limits;
    return left < largestUnpacked
      ? { bytes: left, whose: 'which is left of the disk that the job asks for', entries: mostUnpacked }
      : { bytes: largestUnpacked, whose: 'the most that this node unpacks', entries: mostUnpacked };
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
