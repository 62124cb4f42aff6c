import type { Engine } from './engine.js';

/** How a container stands, as its engine tells. */
export interface ContainerState {
  /** Whether anything of it ever ran. */
  readonly started: boolean;
  /** Whether the kernel ended one of its processes for want of memory. Not every engine can tell. */
  readonly oomKilled: boolean;
  /** What was recorded when it was made: the image's name, and the id of what ran. */
  readonly image: Readonly<Record<string, string>>;
}

export const NAME_PREFIX = 'escalon-';
const REFERENCE_LABEL = 'escalon.image';
const DIGEST_LABEL = 'escalon.image-digest';

/** The container's name is the execution's, so that a later agent finds it. */
export const containerName = (executionId: string): string => `${NAME_PREFIX}${executionId}`;

export const imageLabels = (reference: string, digest: string | undefined): Readonly<Record<string, string>> => ({
  [REFERENCE_LABEL]: reference,
  ...(digest !== undefined && { [DIGEST_LABEL]: digest }),
});

/**
 * The container of one execution. Its engine may be gone by now: then nothing is told of it, and its processes, which are known
 * without the engine, are all that can be ended.
 */
export class Container {
  private readonly name: string;

  constructor(
    executionId: string,
    private readonly engine: Engine | undefined,
  ) {
    this.name = containerName(executionId);
  }

  /** undefined when there is no such container, or nobody to ask. */
  async state(): Promise<ContainerState | undefined> {
    const answer = await this.engine?.run(['container', 'inspect', this.name]);
    return answer?.code === 0 ? parseState(answer.stdout) : undefined;
  }

  /** Ends what may still run of it, and takes away what the engine keeps. */
  async remove(): Promise<void> {
    await this.engine?.run(['rm', '--force', '--volumes', this.name]);
  }
}

interface Inspected {
  readonly Image?: string;
  readonly State?: { readonly StartedAt?: string; readonly OOMKilled?: boolean };
  readonly Config?: { readonly Labels?: Readonly<Record<string, string>> | null };
}

/** Reads what `container inspect` of either engine prints. */
export const parseState = (text: string): ContainerState | undefined => {
  try {
    const [found] = JSON.parse(text) as Inspected[];
    if (!found) return undefined;
    const { [REFERENCE_LABEL]: reference, [DIGEST_LABEL]: digest } = found.Config?.Labels ?? {};
    return {
      // Both tell of what never started that it did in the year 1.
      started: !(found.State?.StartedAt ?? '0001').startsWith('0001'),
      oomKilled: found.State?.OOMKilled === true,
      image: {
        ...(reference !== undefined && { reference }),
        ...(digest !== undefined && { digest }),
        ...(found.Image !== undefined && { id: found.Image.replace(/^sha256:/, '') }),
      },
    };
  } catch {
    return undefined;
  }
};
