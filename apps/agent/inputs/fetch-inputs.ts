import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { AssignedInput } from '#contracts';
import type { Random, Timers } from '#kernel';
import { isDiskFull, messageOf } from '../client/errors.js';
import { isTransient, Refused, Unreachable } from '../client/faults.js';
import type { Http } from '../client/http.js';
import { backoff, wait } from '../client/wait.js';
import { ExecutionFault, failure } from '../executions/ending.js';
import { insidePath } from '../runner/inside.js';
import { artifactOfJob } from './job-results.js';
import type { InputCache } from './input-cache.js';
import { saveStream } from './save-stream.js';
import { isWebAddress, parseSource } from './source.js';
import type { InputSource } from './source.js';

export interface InputLimits {
  /** Bytes of one input at most. */
  readonly largest: number;
  readonly allowHttp: boolean;
}

interface Wanted {
  readonly input: AssignedInput;
  readonly source: InputSource;
  readonly target: string;
}

const TRIES = 4;

const fault = (code: string, message: string): ExecutionFault => new ExecutionFault(failure('input', code, message));

/** Brings an execution's inputs into its folder. */
export class InputFetcher {
  private readonly stopped = new AbortController();

  constructor(
    private readonly cache: InputCache,
    private readonly http: Http,
    private readonly limits: InputLimits,
    private readonly timers: Timers,
    private readonly random: Random,
  ) {}

  /** Whether anything has to come over the network. */
  async anyMissing(inputs: readonly AssignedInput[]): Promise<boolean> {
    for (const { source } of inputs) {
      const parsed = parseSource(source, this.limits.allowHttp);
      if (parsed?.kind !== 'artifact' || !(await this.cache.has(parsed.sha256))) return true;
    }
    return false;
  }

  /**
   * Places all inputs below `work`; what cannot be had is an `ExecutionFault`. `received` hears of fetched bytes. After
   * `signal` aborts no further input is begun; one being fetched goes on, as others may want it too.
   */
  async place(
    inputs: readonly AssignedInput[],
    work: string,
    received: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = inputs.map((input) => this.wanted(input, work));
    for (const want of wanted) if (!signal.aborted) await this.placeOne(want, received);
  }

  /** Gives up what is being fetched, for the agent's end. */
  stop(): void {
    this.stopped.abort();
  }

  private wanted(input: AssignedInput, work: string): Wanted {
    const path = insidePath(input.path);
    if (path === undefined) throw fault('input-path', `the input's path ${input.path} is not inside the task's folder`);
    const source = parseSource(input.source, this.limits.allowHttp);
    if (!source) throw fault('input-source', `no way to fetch ${input.source}`);
    return { input, source, target: join(work, path) };
  }

  private async placeOne({ input, source, target }: Wanted, received: (bytes: number) => void): Promise<void> {
    switch (source.kind) {
      case 'artifact':
        return this.placeArtifact(source.sha256, target, received);
      case 'job': {
        const sha256 = await this.retrying(input.source, () => artifactOfJob(this.http, source.jobId, source.path));
        if (!sha256) throw fault('input-missing', `job ${source.jobId} has no result ${source.path}`);
        return this.placeArtifact(sha256, target, received);
      }
      case 'web':
        return this.download(source.url, target, received);
    }
  }

  private placeArtifact(sha256: string, target: string, received: (bytes: number) => void): Promise<void> {
    const fill = (path: string): Promise<void> =>
      this.retrying(sha256, () => this.fetchArtifact(sha256, path, received));
    return this.cache.place(sha256, target, fill);
  }

  private async fetchArtifact(sha256: string, path: string, received: (bytes: number) => void): Promise<void> {
    await rm(path, { force: true });
    const { status, body } = await this.http.stream(`/artifacts/${sha256}`, this.stopped.signal);
    if (status !== 200) body.resume();
    if (status === 404) throw fault('input-missing', `the artifact store has no ${sha256}`);
    if (status !== 200) throw new Refused(status, {}, `GET /artifacts/${sha256}`);
    const saved = await saveStream(body, path, this.limits.largest);
    received(saved.size);
    if (saved.sha256 !== sha256) throw new WrongBytes(`expected sha256 ${sha256}, got ${saved.sha256}`);
  }

  private async download(url: string, target: string, received: (bytes: number) => void): Promise<void> {
    const partial = await this.cache.temporary();
    try {
      await this.retrying(url, () => this.fetchWeb(url, partial, received), TRIES);
      await mkdir(dirname(target), { recursive: true });
      await rename(partial, target);
    } finally {
      await rm(partial, { force: true });
    }
  }

  private async fetchWeb(url: string, path: string, received: (bytes: number) => void): Promise<void> {
    await rm(path, { force: true });
    const answer = await fetch(url, { signal: this.stopped.signal }).catch((error: unknown) => {
      throw new Unreachable(error);
    });
    if (!isWebAddress(answer.url || url, this.limits.allowHttp))
      throw fault('input-source', `${url} leads to ${answer.url}`);
    if ([404, 410].includes(answer.status)) throw fault('input-missing', `${url} answered ${answer.status}`);
    if (!answer.ok || !answer.body) throw new Refused(answer.status, {}, `GET ${url}`);
    const saved = await saveStream(Readable.fromWeb(answer.body), path, this.limits.largest);
    received(saved.size);
  }

  /**
   * Tries again while it may help: for ever when our own server is away (the node is no better off anywhere else), but
   * `tries` times for wrong bytes and for other people's servers.
   */
  private async retrying<T>(what: string, act: () => Promise<T>, tries = Number.POSITIVE_INFINITY): Promise<T> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await act();
      } catch (error) {
        if (error instanceof ExecutionFault || this.stopped.signal.aborted) throw error;
        if (error instanceof WrongBytes && failures + 1 >= TRIES)
          throw fault('input-corrupt', `${what} does not verify: ${error.message}`);
        if (error instanceof Refused && !isTransient(error))
          throw fault('input-refused', `${what} cannot be fetched: ${error.message}`);
        if (isDiskFull(error)) throw error;
        if (failures + 1 >= tries)
          throw new ExecutionFault(failure('infrastructure', 'input-unreachable', `${what}: ${messageOf(error)}`));
        await wait(this.timers, backoff(failures, this.random), this.stopped.signal);
      }
    }
  }
}

/** What arrived is not what its digest says. */
class WrongBytes extends Error {}
