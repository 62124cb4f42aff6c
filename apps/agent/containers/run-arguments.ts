import type { Limits } from '../executions/limits.js';
import { dialectOf } from './dialect.js';
import type { Engine } from './engine.js';

/** What a container is made of. */
export interface ContainerOf {
  readonly name: string;
  /** The id or name of an image that is there. */
  readonly image: string;
  /** In place of the image's own program; empty for that one. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly workFolder: string;
  /** Paths outside by paths inside; all can be written. */
  readonly mounts: readonly (readonly [inside: string, outside: string])[];
  readonly user: { readonly uid: number; readonly gid: number };
  readonly limits: Limits;
  /** Cores, as a ceiling or as a share of a busy machine. */
  readonly cpu: number;
  readonly hardCpu: boolean;
  /** Ids of devices. */
  readonly gpus: readonly string[];
  /** As the engine names it; undefined for its own default. */
  readonly network: string | undefined;
}

/** No engine takes less, in bytes. */
const LEAST_MEMORY = 6 * 2 ** 20;
/** What a core weighs, and the least weight, in the engines' shares. */
const CORE_SHARES = 1024;
const LEAST_SHARES = 2;

/**
 * The arguments that run a container to its end: without privilege and without a way to more, its root file system read-only, with
 * nothing of the machine but the folders of its task. Every value of a job is either the value of an option or stands behind
 * the image's id, so none can be taken for an option.
 */
export const runArguments = (engine: Pick<Engine, 'name' | 'rootless'>, of: ContainerOf): string[] => {
  const [program, ...rest] = of.command;
  const dialect = dialectOf(engine);
  return [
    ...['run', '--pull=never', '--name', of.name, '--init', '--log-driver=none', '--sig-proxy=false'],
    ...pairs('--label', of.labels),
    ...['--cap-drop=ALL', '--security-opt=no-new-privileges', '--security-opt=label=disable', '--read-only'],
    ...dialect.user(engine.rootless, of.user.uid, of.user.gid),
    ...dialect.alike,
    ...(of.network === undefined ? [] : ['--network', of.network]),
    ...limitArguments(of),
    ...dialect.gpus(of.gpus),
    ...of.mounts.flatMap(([inside, outside]) => ['--mount', `type=bind,source=${outside},target=${inside}`]),
    ...['--workdir', of.workFolder],
    ...pairs('--env', of.environment),
    ...(program === undefined ? [] : ['--entrypoint', program]),
    of.image,
    ...rest,
  ];
};

/** The most that an owner lets the kernel hold a task to; of an owner who holds it to nothing, nothing. */
const limitArguments = ({ limits: { memory, processes }, cpu, hardCpu }: ContainerOf): string[] => {
  // What the kernel ends first when the machine itself runs out of memory.
  const first = ['--oom-score-adj', '500'];
  if (memory === undefined) return first;
  const bytes = `${Math.max(LEAST_MEMORY, Math.floor(memory))}b`;
  const shares = Math.max(LEAST_SHARES, Math.round(cpu * CORE_SHARES));
  return [
    ...first,
    ...['--memory', bytes, '--memory-swap', bytes, '--shm-size', bytes],
    ...(processes === undefined ? [] : ['--pids-limit', String(processes)]),
    ...(hardCpu ? ['--cpus', String(cpu)] : ['--cpu-shares', String(shares)]),
  ];
};

const pairs = (option: string, values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => [option, `${name}=${value}`]);

/** A path that can stand in a mount's description, which is a list with commas. */
export const isMountable = (path: string): boolean => !/[,"\n\r]/.test(path);
