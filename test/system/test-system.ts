import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueToken } from '#platform/auth';
import type { TokenClaims } from '#platform/auth';
import { freePort, startEmbeddedPostgres } from '#platform/postgres';
import type { EmbeddedPostgres } from '#platform/postgres';
import { ApiClient, KnownPosition } from './api-client.js';
import { ManagedProcess } from './managed-process.js';

export const SECRET = 'a secret for tests only, of enough length';

export interface TestSystemOptions {
  /** How many control planes; default one. */
  readonly orchestrators?: number;
  /** Further environment of the control planes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Postgres waits for its disk, as it does for users; tests throw their data away and need not wait. */
  readonly durable?: boolean;
  /** `NODE_OPTIONS` of event store and control planes, to profile them. */
  readonly nodeOptions?: string;
}

export interface TestAgentOptions {
  /** What the agent's configuration file says, as JSON. */
  readonly config?: object;
  /** Where it finds the control plane, if not at its own address. */
  readonly url?: string;
}

/**
 * The whole of Escalon as its users run it: event store, Postgres, control planes and agents, each a process of its own
 * on the loopback address, with everything in one temporary folder.
 */
export class TestSystem {
  readonly orchestrators: ManagedProcess[] = [];
  readonly urls: string[] = [];
  readonly agents = new Map<string, ManagedProcess>();
  eventStore!: ManagedProcess;
  postgres!: EmbeddedPostgres;
  private postgresPort = 0;
  /** Whoever wrote it. */
  private readonly known = new KnownPosition();

  private constructor(
    readonly folder: string,
    private readonly options: TestSystemOptions,
  ) {}

  static async start(options: TestSystemOptions = {}): Promise<TestSystem> {
    const system = new TestSystem(await mkdtemp(join(tmpdir(), 'escalon-e2e-')), options);
    try {
      await system.startStores();
      for (let index = 0; index < (options.orchestrators ?? 1); index += 1) await system.addOrchestrator(index);
      await system.operator().put('/projects/demo', { institution: 'here', members: ['*'] });
      return system;
    } catch (error) {
      await system.stop();
      throw error;
    }
  }

  /** The address of the first control plane. */
  get url(): string {
    return this.urls[0]!;
  }

  get eventStoreUrl(): string {
    return this.esdbUrl;
  }

  private esdbUrl = '';

  as(claims: TokenClaims, orchestrator = 0): ApiClient {
    return new ApiClient(this.urls[orchestrator]!, issueToken(SECRET, claims), this.known);
  }

  operator(orchestrator = 0): ApiClient {
    return this.as({ role: 'operator', account: 'op' }, orchestrator);
  }

  researcher(account = 'ada', orchestrator = 0): ApiClient {
    return this.as({ role: 'researcher', account }, orchestrator);
  }

  /** Speaks for a node without an agent behind it. */
  node(nodeId: string, orchestrator = 0): ApiClient {
    return this.as({ role: 'node', account: `node:${nodeId}`, nodeId }, orchestrator);
  }

  /** A real agent; resolves once it is enrolled. */
  async addAgent(name: string, { config, url = this.url }: TestAgentOptions = {}): Promise<ManagedProcess> {
    const data = join(this.folder, 'agents', name);
    await mkdir(data, { recursive: true });
    const token = join(data, 'enrol.token');
    await writeFile(token, await issueToken(SECRET, { role: 'node', account: 'enrol' }), { mode: 0o600 });
    const args = ['--url', url, '--data', data, '--name', name, '--token-file', token];
    args.push('--institution', 'here', '--drain', '0s');
    const file = join(data, 'agent.json');
    // To try an engine that the machine happens to have would take each agent seconds.
    await writeFile(file, JSON.stringify({ containers: { engine: 'none' }, ...config }));
    args.push('--config', file);
    const agent = new ManagedProcess('agent', args);
    this.agents.set(name, agent);
    await agent.start();
    return agent;
  }

  /** Starts the same database again after it was killed. */
  async restartPostgres(): Promise<void> {
    this.postgres = await startEmbeddedPostgres({
      dataDir: join(this.folder, 'postgres'),
      port: this.postgresPort,
      logFile: join(this.folder, 'postgres.log'),
      unsafe: this.options.durable !== true,
    });
    this.postgresPort = this.postgres.port;
  }

  /** What the processes said of faults of their own. That a store did not answer in time may be the machine's. */
  faults(): string[] {
    return this.report()
      .split('\n')
      .filter(
        (line) =>
          /"level":(50|60)|"level":"(error|fatal)"/.test(line) && !/"code":"(?:READ_)?STORE_UNAVAILABLE"/.test(line),
      );
  }

  /** What every process said last: for the message of a test that failed. */
  report(): string {
    const processes = [
      ...this.orchestrators.map((process, index) => [`orchestrator ${String(index)}`, process] as const),
      ['event store', this.eventStore] as const,
      ...[...this.agents].map(([name, process]) => [`agent ${name}`, process] as const),
    ];
    return processes.map(([name, process]) => `--- ${name}\n${process.output}`).join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all([...this.agents.values()].map((agent) => agent.kill('SIGKILL')));
    await Promise.all(this.orchestrators.map((orchestrator) => orchestrator.kill('SIGKILL')));
    // Not there yet when the start itself failed.
    const { eventStore, postgres } = this as Partial<Pick<TestSystem, 'eventStore' | 'postgres'>>;
    await eventStore?.kill('SIGKILL');
    await postgres?.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async startStores(): Promise<void> {
    const port = await freePort();
    const args = ['--file', join(this.folder, 'events.db'), '--port', String(port)];
    this.eventStore = new ManagedProcess('eventstore', args, this.nodeOptions());
    this.esdbUrl = `esdb://127.0.0.1:${String(port)}?tls=false`;
    await Promise.all([this.eventStore.start(), this.restartPostgres()]);
  }

  private async addOrchestrator(index: number): Promise<void> {
    const port = await freePort();
    const env = {
      ESDB_URL: this.esdbUrl,
      DATABASE_URL: this.postgres.url,
      PORT: String(port),
      ESCALON_SECRET: SECRET,
      // Logs and artifacts are shared, as they would be over S3.
      ESCALON_DATA: join(this.folder, 'data'),
      LOG_LEVEL: 'info',
      ...this.nodeOptions(),
      ...this.options.env,
    };
    const orchestrator = new ManagedProcess('orchestrator', [], env);
    this.orchestrators[index] = orchestrator;
    this.urls[index] = `http://127.0.0.1:${String(port)}`;
    await orchestrator.start();
  }

  private nodeOptions(): Record<string, string> {
    return this.options.nodeOptions === undefined ? {} : { NODE_OPTIONS: this.options.nodeOptions };
  }
}
