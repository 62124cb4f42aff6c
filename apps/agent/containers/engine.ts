import { execFile } from 'node:child_process';
import type { Inventory } from '#contracts';
import { searchPath } from '../runner/environment.js';

export type EngineName = NonNullable<Inventory['container']>['engine'];

/** What the program of an engine answered; `code` is undefined when it could not be run or took too long. */
export interface EngineAnswer {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface EngineCall {
  /** Milliseconds; default 60 000. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  /** For its standard input. */
  readonly input?: Uint8Array;
}

const TIMEOUT = 60_000;
const MOST_OUTPUT = 16 * 2 ** 20;

/**
 * What an engine's program takes from the agent's environment: where its files, its daemon and its registries are. None of it
 * gets into a container, and nothing else of the agent's, its token least of all, gets to the engine.
 */
const ENGINE_VARIABLES: readonly string[] = [
  ...['HOME', 'USER', 'LOGNAME', 'TMPDIR', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'],
  ...['DBUS_SESSION_BUS_ADDRESS', 'DOCKER_HOST', 'DOCKER_CONFIG', 'DOCKER_CONTEXT', 'DOCKER_CERT_PATH'],
  ...['DOCKER_TLS_VERIFY', 'CONTAINERS_CONF', 'CONTAINERS_STORAGE_CONF', 'CONTAINERS_REGISTRIES_CONF'],
  ...['REGISTRY_AUTH_FILE', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
];

/** The environment of an engine's program. */
export const engineEnvironment = (own: NodeJS.ProcessEnv = process.env): Record<string, string> => {
  const taken = ENGINE_VARIABLES.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const]));
  return { ...Object.fromEntries(taken), PATH: searchPath(), LANG: 'C' };
};

/** A docker or podman on this machine, spoken to by its command line. */
export class Engine {
  constructor(
    readonly name: EngineName,
    /** An absolute path. */
    readonly program: string,
    readonly version = '',
    /** Whether what is root in its containers is an ordinary user outside. */
    readonly rootless = false,
  ) {}

  run(args: readonly string[], { timeout = TIMEOUT, signal, input }: EngineCall = {}): Promise<EngineAnswer> {
    return new Promise((resolve) => {
      const options = { timeout, killSignal: 'SIGKILL' as const, maxBuffer: MOST_OUTPUT, env: engineEnvironment() };
      const child = execFile(this.program, args, { ...options, ...(signal && { signal }) }, (error, stdout, stderr) => {
        const code = error ? (typeof error.code === 'number' ? error.code : undefined) : 0;
        resolve({ code, stdout, stderr: stderr === '' && error && code === undefined ? error.message : stderr });
      });
      // An engine that ends without reading it says why on standard error.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
    });
  }
}

/** The last line that says something: what an engine's program ends with when it fails. */
export const lastSaid = ({ stderr }: Pick<EngineAnswer, 'stderr'>): string =>
  stderr
    .split('\n')
    .map((line) => line.trim())
    .findLast((line) => line !== '') ?? 'it said nothing';
