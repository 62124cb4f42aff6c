import type { Artifact, FailureClass } from '#contracts';
import type { Meter } from '../metering/meter.js';
import { collectOutputs, MOST_OUTPUTS } from '../outputs/collect.js';
import type { Publisher } from '../outputs/publish.js';
import { failure, failureOf } from './ending.js';
import type { Failure } from './ending.js';

/** What was stored, and what is wrong with the rest. */
export interface Outputs {
  readonly artifacts: readonly Artifact[];
  readonly failed?: Failure | undefined;
}

export interface OutputsOf {
  readonly work: string;
  readonly patterns: readonly string[];
  /** Why the task failed, if it did. */
  readonly failed: Failure | undefined;
  readonly meter: Meter;
  readonly signal: AbortSignal;
  /** Called before the first file of a task that went well is stored. */
  readonly begun: () => void;
}

/** How many paths a message names. */
const SHOWN = 20;

/** Failures that leave outputs worth keeping. One that was stopped should be out of the way quickly. */
const KEEPS_OUTPUTS: ReadonlySet<FailureClass> = new Set(['application', 'input', 'resource', 'timeout']);

/** Publishes what a task left, after a failure too; what was stored before a stop or a fault stays. */
export const publishOutputs = async (publisher: Publisher, of: OutputsOf): Promise<Outputs> => {
  const { work, patterns, failed, meter, signal } = of;
  if (patterns.length === 0 || (failed && !KEEPS_OUTPUTS.has(failed.class))) return { artifacts: [] };
  const artifacts: Artifact[] = [];
  try {
    const { files, missing, refused } = await collectOutputs(work, patterns);
    if (files.length > MOST_OUTPUTS) return { artifacts: [], failed: tooMany(files.length) };
    if (files.length > 0 && !failed) of.begun();
    await publisher.publish(work, files, signal, (artifact, sent) => {
      meter.sent(sent);
      artifacts.push(artifact);
    });
    return { artifacts, failed: outputFailure(missing, refused) };
  } catch (error) {
    return { artifacts, failed: failureOf(error, 'publishing outputs') };
  }
};

const tooMany = (count: number): Failure =>
  failure('application', 'too-many-outputs', `${count} outputs, at most ${MOST_OUTPUTS} are taken`);

/** The first of a list that may be long. */
const someOf = (paths: readonly string[]): string =>
  paths.length <= SHOWN ? paths.join(', ') : `${paths.slice(0, SHOWN).join(', ')} and ${paths.length - SHOWN} more`;

const outputFailure = (missing: readonly string[], refused: readonly string[]): Failure | undefined => {
  if (refused.length > 0)
    return failure('application', 'output-refused', `outputs that are not taken: ${someOf(refused)}`);
  return missing.length > 0
    ? failure('application', 'output-missing', `declared but not made: ${someOf(missing)}`)
    : undefined;
};
