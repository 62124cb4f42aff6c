import { parseState } from './container.js';
import { dialectOf } from './dialect.js';
import { Engine, lastSaid } from './engine.js';
import type { EngineAnswer } from './engine.js';
import { runArguments } from './run-arguments.js';
import type { ContainerOf } from './run-arguments.js';

/** Empty, made by the agent itself, so that an engine can be tried where no registry is reached. */
const PROBE_IMAGE = 'localhost/escalon-probe:1';
/** The end of an archive, with nothing before it. */
const EMPTY_ARCHIVE = new Uint8Array(1024);
const NOTHING = ['/nothing'];

export type Probed = { readonly engine: Engine } | { readonly why: string };

/** What a trial is to be like: as strict as a task, in the network that tasks get. */
export interface ProbeOf {
  /** A name that no other container has. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly network: string | undefined;
  readonly user: { readonly uid: number; readonly gid: number };
  /** Whether tasks are held to their contracts. */
  readonly limited: boolean;
  readonly signal: AbortSignal;
}

/**
 * Whether an engine really runs containers here for this user. Its version alone says nothing of that: a daemon may be away, a
 * control group not delegated, the init program missing. So a container is run that is like a task's in all but its image,
 * which holds nothing; it is enough that it starts.
 */
export const probeEngine = async (found: Engine, of: ProbeOf): Promise<Probed> => {
  const dialect = dialectOf(found);
  const info = await found.run(dialect.info, { signal: of.signal });
  const [, version, security = ''] = /^(\S+) (.*)/.exec(info.stdout) ?? [];
  if (info.code !== 0 || version === undefined) return { why: lastSaid(info) };
  const engine = new Engine(found.name, found.program, version, dialect.saysRootless(security));
  const made = await makeImage(engine, of.signal);
  if (made.code !== 0) return { why: lastSaid(made) };
  return tryToRun(engine, of);
};

const makeImage = async (engine: Engine, signal: AbortSignal): Promise<EngineAnswer> => {
  const there = await engine.run(['image', 'inspect', PROBE_IMAGE], { signal });
  return there.code === 0 ? there : engine.run(['import', '-', PROBE_IMAGE], { input: EMPTY_ARCHIVE, signal });
};

const tryToRun = async (engine: Engine, of: ProbeOf): Promise<Probed> => {
  const { name, signal } = of;
  await engine.run(['rm', '--force', name], { signal });
  const ran = await engine.run(runArguments(engine, likeATask(of)), { signal });
  const state = parseState((await engine.run(['container', 'inspect', name], { signal })).stdout);
  await engine.run(['rm', '--force', name], { signal });
  return state?.started ? { engine } : { why: lastSaid(ran) };
};

const likeATask = ({ name, labels, network, user, limited }: ProbeOf): ContainerOf => ({
  name,
  labels,
  network,
  user,
  image: PROBE_IMAGE,
  command: NOTHING,
  environment: {},
  workFolder: '/',
  mounts: [],
  limits: limited ? { memory: 2 ** 26, processes: 64 } : {},
  cpu: 1,
  hardCpu: false,
  gpus: [],
});
