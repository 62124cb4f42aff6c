import { searchPath } from '../runner/environment.js';
import { findCommand } from '../runner/find-command.js';
import { Engine } from './engine.js';
import type { EngineName } from './engine.js';
import { probeEngine } from './probe.js';
import type { ProbeOf } from './probe.js';

/** Which engine is wanted: `auto` takes podman or else docker, whichever is usable. */
export type EngineChoice = EngineName | 'auto' | 'none';

export interface FoundEngine {
  readonly engine?: Engine;
  /** Of each engine that is there and was tried in vain. */
  readonly whyNot: readonly string[];
}

const AUTOMATIC: readonly EngineName[] = ['podman', 'docker'];

/** Tries the engines that are wanted and there, one after the other. `path` is that of the one that is wanted by name. */
export const findEngine = async (
  choice: EngineChoice,
  path: string | undefined,
  probe: ProbeOf,
): Promise<FoundEngine> => {
  if (choice === 'none') return { whyNot: [] };
  const whyNot: string[] = [];
  for (const name of choice === 'auto' ? AUTOMATIC : [choice]) {
    const program = await findCommand(path ?? name, '/', searchPath());
    if (program.kind !== 'found') {
      if (choice !== 'auto') whyNot.push(`${path ?? name} is not there, or not executable`);
      continue;
    }
    const probed = await probeEngine(new Engine(name, program.path), probe);
    if ('engine' in probed) return { engine: probed.engine, whyNot };
    whyNot.push(`${name}: ${probed.why}`);
  }
  return { whyNot };
};
