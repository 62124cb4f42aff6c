import { join } from 'node:path';
import { freePort, startEmbeddedPostgres } from '#platform/postgres';
import { startProcess } from './child-process.js';
import type { Timers } from '#kernel';
import type { ProcessSpec, RunningProcess } from './child-process.js';
import type { DataFolder } from './data-folder.js';
import type { RunningService, Service } from './service.js';

export interface ServicePorts {
  readonly folder: DataFolder;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timers: Timers;
  /** The folder of the built apps: `dist/apps`. */
  readonly apps: string;
}

const SECOND = 1000;

/** Starts one of the apps; what differs between them is arguments, environment and patience. */
const startApp = (
  ports: ServicePorts,
  app: string,
  spec: Pick<ProcessSpec, 'args' | 'stopWithin'> & { readonly env?: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<RunningProcess> => {
  // The caller's token is not the children's; each gets its own by file.
  const { ESCALON_TOKEN: _token, ...inherited } = ports.env;
  const process: ProcessSpec = {
    name: app,
    script: join(ports.apps, app, 'main.js'),
    args: spec.args,
    env: { ...inherited, ...spec.env },
    logFile: join(ports.folder.services, `${app}.log`),
    readyWithin: 60 * SECOND,
    stopWithin: spec.stopWithin,
  };
  return startProcess(process, ports.timers, signal);
};

const running = (process: RunningProcess, line: string): RunningService => ({
  line,
  exited: process.exited,
  stop: () => process.stop(),
});

/** A service whose address others are told: it keeps its port when it is started again. */
export interface AddressedService extends Service {
  /** Throws before the first start. */
  readonly address: () => string;
}

/** The event store in one file, speaking the real protocol. `address` is an `esdb://` connection string. */
export const embeddedEventStore = (ports: ServicePorts): AddressedService => {
  let port = 0;
  return {
    name: 'event store',
    address: () => `esdb://127.0.0.1:${known(port)}?tls=false`,
    start: async (signal) => {
      const args = ['--file', ports.folder.events, '--port', String(port), '--exit-with-parent'];
      const process = await startApp(ports, 'eventstore', { args, stopWithin: 10 * SECOND }, signal);
      port = Number(process.ready.port);
      return running(process, `event store   esdb://127.0.0.1:${port}  ${ports.folder.events}`);
    },
  };
};

/** Postgres from the packages. It outlives a supervisor that was killed; the next start takes it over. */
export const embeddedPostgres = (ports: ServicePorts): AddressedService => {
  let url: string | undefined;
  let port = 0;
  return {
    name: 'postgres',
    address: () => known(url),
    start: async (signal) => {
      const logFile = join(ports.folder.services, 'postgres.log');
      const server = await startEmbeddedPostgres({ dataDir: ports.folder.postgres, port, logFile });
      if (signal.aborted) await server.stop();
      signal.throwIfAborted();
      ({ url, port } = server);
      return {
        line: `postgres      127.0.0.1:${port}${server.adopted ? '  (was still running)' : ''}`,
        exited: server.exited.then(() => 'see its log'),
        stop: () => server.stop(),
      };
    },
  };
};

/** The control plane: API, scheduler, projector. */
export const controlPlane = (
  ports: ServicePorts,
  port: number,
  eventStore: () => string,
  database: () => string,
): AddressedService => {
  let fixed = port;
  return {
    name: 'control plane',
    address: () => `http://127.0.0.1:${known(fixed)}`,
    start: async (signal) => {
      if (fixed === 0) fixed = await freePort();
      const env = {
        ESDB_URL: eventStore(),
        DATABASE_URL: database(),
        PORT: String(fixed),
        ESCALON_SECRET_FILE: ports.folder.secret,
        ESCALON_DATA: ports.folder.root,
      };
      const process = await startApp(
        ports,
        'orchestrator',
        { args: ['--exit-with-parent'], env, stopWithin: 20 * SECOND },
        signal,
      );
      return running(process, `control plane http://127.0.0.1:${fixed}`);
    },
  };
};

/** Who stops the whole system wants it to end, its tasks too. */
const NO_DRAIN = ['--drain', '0s'];

/** The agent of this machine. */
export const localAgent = (ports: ServicePorts, name: string, url: () => string): Service => ({
  name: 'agent',
  start: async (signal) => {
    const { folder } = ports;
    const connection = ['--url', url(), '--token-file', folder.enrolToken];
    const args = [...connection, '--data', folder.agent, '--name', name, '--exit-with-parent', ...NO_DRAIN];
    const process = await startApp(ports, 'agent', { args, stopWithin: 20 * SECOND }, signal);
    return running(process, `agent         node ${name}`);
  },
});

const known = <Value>(value: Value | undefined): Value => {
  if (value === undefined || value === 0) throw new Error('the address of a service is known only once it runs');
  return value;
};
