import { runArguments } from './run-arguments.js';
import { dialectOf } from './dialect.js';
import { Engine, lastSaid } from './engine.js';
import type { EngineAnswer } from './engine.js';
import { parseState } from './container.js';

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
}

/**
 * Whether an engine really runs containers here for this user. Its version alone says nothing of that: a daemon may be away, a
 * control group not delegated, the init program missing. So a container is run that is like a task's in all but its image,
 * which holds nothing; it is enough that it starts.
 */
export const probeEngine = async (found: Engine, of: ProbeOf): Promise<Probed> => {
  const dialect = dialectOf(found);
  const version = await found.run(dialect.version);
  if (version.code !== 0) return { why: lastSaid(version) };
  const security = await found.run(dialect.security);
  if (security.code !== 0) return { why: lastSaid(security) };
  const rootless = dialect.saysRootless(security.stdout);
  const engine = new Engine(found.name, found.program, version.stdout.trim(), rootless);
  const made = await makeImage(engine);
  if (made.code !== 0) return { why: lastSaid(made) };
  return tryToRun(engine, of);
};

const makeImage = async (engine: Engine): Promise<EngineAnswer> => {
  const there = await engine.run(['image', 'inspect', PROBE_IMAGE]);
  return there.code === 0 ? there : engine.run(['import', '-', PROBE_IMAGE], { input: EMPTY_ARCHIVE });
};

const tryToRun = async (engine: Engine, { name, labels, network, user, limited }: ProbeOf): Promise<Probed> => {
  await engine.run(['rm', '--force', name]);
  const ran = await engine.run(
    runArguments(engine, {
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
    }),
  );
  const state = parseState((await engine.run(['container', 'inspect', name])).stdout);
  await engine.run(['rm', '--force', name]);
  return state?.started ? { engine } : { why: lastSaid(ran) };
};
