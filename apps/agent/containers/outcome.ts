import { failure } from '../executions/ending.js';
import type { Failure } from '../executions/ending.js';
import { outOfMemory } from '../executions/limits.js';
import type { ExitRecord } from '../runner/supervisor.js';
import type { ContainerState } from './container.js';

/** An engine's program ends with these when the container did not run; a task may end with them too. */
const ENGINE_CODES: ReadonlySet<number> = new Set([125, 126, 127]);
/** What the engines' init programs say when there is no such program in the image: podman's, docker's. */
const NO_PROGRAM = /\(catatonit:\d+\): failed to exec pid1: (.+)|\[FATAL tini \(\d+\)\] exec .+ failed: (.+)/;

export interface SeenOfContainer {
  readonly exit: ExitRecord | undefined;
  /** undefined when the engine knows no such container. */
  readonly state: ContainerState | undefined;
  readonly stderrTail: readonly string[];
  readonly program: string | undefined;
  /** Bytes that the contract grants. */
  readonly memory: number;
}

/** A failure that is of the container rather than of what ran in it; undefined for all others. */
export const containerFailure = ({
  exit,
  state,
  stderrTail,
  program,
  memory,
}: SeenOfContainer): Failure | undefined => {
  if (!exit || exit.code === 0) return undefined;
  if (state?.oomKilled) return outOfMemory(memory, memory, { enforcedBy: 'container' });
  const last = stderrTail.at(-1) ?? '';
  if (state?.started !== true && ENGINE_CODES.has(exit.code))
    return failure('infrastructure', 'container-engine', `the engine did not start the container: ${last}`);
  const said = NO_PROGRAM.exec(last);
  const why = said?.[1] ?? said?.[2];
  if (why === undefined) return undefined;
  const name = program ?? "the image's own program";
  return failure('application', 'command-not-found', `${name}: ${why.toLowerCase()} in the image`);
};
