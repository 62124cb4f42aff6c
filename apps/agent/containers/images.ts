import { imageText, parseImageReference } from '#contracts';
import { ExecutionFault, failure } from '../executions/ending.js';
import { dialectOf } from './dialect.js';
import { lastSaid } from './engine.js';
import type { Engine, EngineAnswer } from './engine.js';

/** When an image is fetched: if it is not there, before every task, or by nobody but the node's owner. */
export type PullPolicy = 'missing' | 'always' | 'never';

/** An image that is on this machine. */
export interface PresentImage {
  readonly id: string;
  /** `name@sha256:…`, where a registry or the engine gave it one. */
  readonly digest?: string;
}

/** The name as every engine reads it. The control plane has checked it; what could be taken for an option stops here too. */
export const wholeName = (image: string): string => {
  const parsed = parseImageReference(image);
  if (!parsed.ok) throw unavailable(image, parsed.message);
  return imageText(parsed.value);
};

/** What a name stands for on this machine now; undefined when there is no such image. */
export const presentImage = async (engine: Engine, image: string): Promise<PresentImage | undefined> => {
  const answer = await engine.run(['image', 'inspect', wholeName(image)]);
  return answer.code === 0 ? parseImage(answer.stdout) : undefined;
};

/** Fetches an image. One that cannot be had is the `input` failure `image-unavailable`. */
export const fetchImage = async (engine: Engine, image: string, signal: AbortSignal): Promise<void> => {
  const name = wholeName(image);
  const answer = await engine.run(['pull', '--quiet', name], { timeout: 0, signal });
  if (answer.code !== 0 && !signal.aborted) throw await whyNot(engine, name, answer);
};

export const unavailable = (name: string, why: string): ExecutionFault =>
  new ExecutionFault(failure('input', 'image-unavailable', `the image ${name} cannot be had: ${why}`));

/** A daemon that does not answer is the node's trouble, and another node may have none. */
const whyNot = async (engine: Engine, name: string, answer: EngineAnswer): Promise<ExecutionFault> => {
  const { code } = await engine.run(dialectOf(engine).info);
  if (code === 0) return unavailable(name, lastSaid(answer));
  const says = `${engine.name} does not answer: ${lastSaid(answer)}`;
  return new ExecutionFault(failure('infrastructure', 'container-engine', says));
};

interface Inspected {
  readonly Id?: string;
  readonly RepoDigests?: readonly string[] | null;
}

/** Reads what `image inspect` of either engine prints. */
export const parseImage = (text: string): PresentImage | undefined => {
  try {
    const [found] = JSON.parse(text) as Inspected[];
    const digest = found?.RepoDigests?.[0];
    return found?.Id === undefined ? undefined : { id: found.Id, ...(digest !== undefined && { digest }) };
  } catch {
    return undefined;
  }
};
