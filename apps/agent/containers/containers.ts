import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Inventory } from '#contracts';
import type { Logger } from 'pino';
import { ExecutionFault, failure } from '../executions/ending.js';
import { Container, containerName, NAME_PREFIX } from './container.js';
import { Engine } from './engine.js';
import { findEngine } from './find-engine.js';
import type { EngineChoice, FoundEngine } from './find-engine.js';
import { fetchImage, presentImage, unavailable, wholeName } from './images.js';
import type { PresentImage, PullPolicy } from './images.js';
import { isMountable } from './run-arguments.js';

/** What a node's owner says of containers. */
export interface ContainerOptions {
  /** Default `auto`; `none` takes no job that brings an image. */
  readonly engine?: EngineChoice;
  /** Of the program of the engine that is named; default: looked for in the agent's search path. */
  readonly path?: string;
  /** Default `missing`. */
  readonly pull?: PullPolicy;
  /** As the engine names it, such as `none` or `host`; default: the engine's own. */
  readonly network?: string;
}

export interface Surroundings {
  readonly data: string;
  /** Whom tasks run as. */
  readonly user: { readonly uid: number; readonly gid: number };
  /** Whether tasks are held to their contracts. */
  readonly limited: boolean;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Aborts when the agent ends. */
  readonly signal: AbortSignal;
}

/** The engine that was used last, as it is kept from one start of the agent to the next. */
interface Remembered extends Pick<Engine, 'name' | 'program' | 'version' | 'rootless'> {
  readonly usable: boolean;
}

const AGENT_LABEL = 'escalon.agent';

/**
 * The container engine of this machine, as far as its owner lends it: tried again with every inventory, and used for the tasks that
 * bring an image. The one that was used last stays known, so that what it still runs is found when it is not usable, or not
 * lent, any more.
 */
export class Containers {
  private usable: Engine | undefined;
  private known: Engine | undefined;
  private told = '';

  constructor(
    readonly options: ContainerOptions,
    readonly surroundings: Surroundings,
  ) {}

  /** Marks the containers of this agent among all that its engine runs. */
  get labels(): Readonly<Record<string, string>> {
    return { [AGENT_LABEL]: createHash('sha256').update(this.surroundings.data).digest('hex').slice(0, 16) };
  }

  /** What the inventory tells. `quick` takes what the last look found, as a trial takes seconds. */
  async look(quick: boolean): Promise<Inventory['container']> {
    if (quick) await this.recall();
    else await this.tryAll();
    return this.usable && { engine: this.usable.name, version: this.usable.version };
  }

  /** The engine for a task; none is an `ExecutionFault`. */
  engine(): Engine {
    if (this.usable) return this.usable;
    const says = 'no container engine is usable on the node';
    throw new ExecutionFault(failure('infrastructure', 'no-container-engine', says));
  }

  containerOf(executionId: string): Container {
    return new Container(executionId, this.usable ?? this.known);
  }

  /** The image that a task brings, if it has to be fetched first. */
  async absent(image: string | undefined): Promise<string | undefined> {
    if (image === undefined) return undefined;
    const there = this.options.pull !== 'always' && (await presentImage(this.engine(), image)) !== undefined;
    return there ? undefined : image;
  }

  /** Fetches an image, if the owner lets any be fetched. */
  async fetch(image: string, signal: AbortSignal): Promise<void> {
    if (this.options.pull === 'never') throw unavailable(wholeName(image), "the node's owner lets none be fetched");
    this.surroundings.log.info({ image }, 'a container image is fetched');
    await fetchImage(this.engine(), image, signal);
  }

  /** What a task's image is now that it is to run. */
  async present(image: string): Promise<PresentImage> {
    const found = await presentImage(this.engine(), image);
    if (!found) throw unavailable(wholeName(image), 'it was removed from the node');
    return found;
  }

  /** Removes the containers of this agent that are not of these executions. */
  async removeOthers(running: ReadonlySet<string>): Promise<void> {
    const filters = Object.entries(this.labels).flatMap(([name, value]) => ['--filter', `label=${name}=${value}`]);
    const listed = await this.known?.run(['ps', '--all', ...filters, '--format', '{{.Names}}']);
    const names = (listed?.stdout ?? '').split('\n').filter((name) => name.startsWith(NAME_PREFIX));
    for (const executionId of names.map((name) => name.slice(NAME_PREFIX.length))) {
      if (running.has(executionId)) continue;
      this.surroundings.log.warn({ executionId }, 'a container that no execution accounts for is removed');
      await this.containerOf(executionId).remove();
    }
  }

  private async tryAll(): Promise<void> {
    const { engine: choice = 'auto', path, network } = this.options;
    const { data, user, limited, log, signal } = this.surroundings;
    const name = containerName(`probe-${this.labels[AGENT_LABEL] ?? ''}`);
    const found: FoundEngine = isMountable(data)
      ? await findEngine(choice, path, { name, labels: this.labels, network, user, limited, signal })
      : { whyNot: ['there are commas or quotes in the path of the data folder, which cannot be mounted'] };
    if (signal.aborted) return;
    this.tell(found);
    this.usable = found.engine;
    this.known = found.engine ?? this.known;
    if (!this.known) return;
    const { name: engine, program, version, rootless } = this.known;
    const kept: Remembered = { name: engine, program, version, rootless, usable: found.engine !== undefined };
    await writeFile(this.file, JSON.stringify(kept)).catch((error: unknown) =>
      log.warn({ error }, 'the container engine could not be kept in mind'),
    );
  }

  /** Says why there is none when that has changed. */
  private tell({ engine, whyNot }: FoundEngine): void {
    const now = engine ? '' : whyNot.join('; ');
    if (now !== '' && now !== this.told)
      this.surroundings.log.warn(
        { why: whyNot },
        'no container engine is usable: jobs that bring an image go elsewhere',
      );
    this.told = now;
  }

  private async recall(): Promise<void> {
    const kept = parseKept(await readFile(this.file, 'utf8').catch(() => ''));
    if (!kept) return;
    this.known = new Engine(kept.name, kept.program, kept.version, kept.rootless);
    const { engine: choice = 'auto' } = this.options;
    if (kept.usable && (choice === 'auto' || choice === kept.name)) this.usable = this.known;
  }

  private get file(): string {
    return join(this.surroundings.data, 'container-engine.json');
  }
}

const parseKept = (text: string): Remembered | undefined => {
  try {
    return JSON.parse(text) as Remembered;
  } catch {
    return undefined;
  }
};
