import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  Artifact,
  Assignment,
  CacheRequest,
  DesiredState,
  EnrollRequest,
  Inventory,
  Report,
  ReportAnswer,
} from '#contracts';
import { systemTimers } from '#kernel';

/** Something hangs: no machine is so slow. */
const DEADLINE = 200_000;

interface LogPart {
  readonly begin: number;
  bytes: Buffer;
}

interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly bytes?: Buffer;
  /** How much there is of an upload that was cut off. */
  readonly offset?: number | undefined;
  /** Of the bytes in the whole, as `Content-Range` has it. */
  readonly range?: string;
}

/**
 * A control plane of one node over real HTTP that records what an agent says: what the agent's own tests talk to. It holds
 * the protocol's promises (long poll, offsets, verified artifacts), but decides nothing.
 */
export class RecordedControlPlane {
  readonly enrolments: EnrollRequest[] = [];
  readonly enrolTokens: string[] = [];
  readonly inventories: Inventory[] = [];
  /** What was told of the cache, each time. */
  readonly caches: (readonly string[])[] = [];
  readonly reports: Report[] = [];
  readonly artifacts = new Map<string, Buffer>();
  readonly results = new Map<string, Artifact[]>();
  readonly requests: string[] = [];
  heartbeats = 0;
  /** How often the agent said that it ends. */
  leaves = 0;
  /** Executions whose reports are answered as no longer current. */
  readonly stale = new Set<string>();
  /** Kinds of report that are refused as malformed. */
  readonly malformed = new Set<string>();
  /** Artifacts that are delivered with other bytes than their digest says. */
  readonly corrupt = new Set<string>();
  /** Bytes of a log stream that the server claims to have lost, once: makes it answer 409. */
  forgetLogs = 0;
  /** What is there of artifacts whose upload was cut off. */
  readonly partial = new Map<string, Buffer>();
  /** Bytes of artifacts that arrived, over all uploads. */
  uploaded = 0;
  private readonly logs = new Map<string, LogPart[]>();
  private readonly assigned = new Map<string, Assignment>();
  private revision = 0;
  private changed = Promise.withResolvers<undefined>();
  private happened = Promise.withResolvers<undefined>();
  private server: Server | undefined;
  private port = 0;

  static async start(): Promise<RecordedControlPlane> {
    const plane = new RecordedControlPlane();
    await plane.up();
    return plane;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Where it listens, for a wire to it. */
  get listeningAt(): number {
    return this.port;
  }

  /** Listens, on the same port as before. */
  async up(): Promise<void> {
    const server = createServer((request, response) => void this.serve(request, response));
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
  }

  /** Breaks every connection and refuses new ones. */
  async down(): Promise<void> {
    const { server } = this;
    if (!server) return;
    this.server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  assign(assignment: Assignment): void {
    this.assigned.set(assignment.executionId, assignment);
    this.change();
  }

  unassign(executionId: string): void {
    this.assigned.delete(executionId);
    this.change();
  }

  desire(executionId: string, desired: DesiredState): void {
    const assignment = this.assigned.get(executionId);
    if (assignment) this.assign({ ...assignment, desired });
  }

  reportsOf(executionId: string): Report[] {
    return this.reports.filter((report) => report.executionId === executionId);
  }

  typesOf(executionId: string): string[] {
    return this.reportsOf(executionId).map(({ type }) => type);
  }

  /** All that came of a stream; where a part was left out, `[N left out]` stands for it. */
  log(executionId: string, stream: 'stdout' | 'stderr'): string {
    let end = 0;
    const texts = this.logParts(executionId, stream).map(({ begin, text }) => {
      const note = begin > end ? `[${begin - end} left out]` : '';
      end = begin + Buffer.byteLength(text);
      return note + text;
    });
    return texts.join('');
  }

  /** What came of a stream in one go, and where it begins. */
  logParts(executionId: string, stream: 'stdout' | 'stderr'): { readonly begin: number; readonly text: string }[] {
    const parts = this.logs.get(`${executionId}/${stream}`) ?? [];
    return parts.map(({ begin, bytes }) => ({ begin, text: bytes.toString() }));
  }

  store(content: string | Buffer): string {
    const bytes = Buffer.from(content);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.artifacts.set(sha256, bytes);
    return sha256;
  }

  /** Waits for a report of this type. */
  async reported<Type extends Report['type']>(
    executionId: string,
    type: Type,
    limit = DEADLINE,
  ): Promise<Report & { type: Type }> {
    const found = (): Report | undefined => this.reportsOf(executionId).find((report) => report.type === type);
    await this.until(() => found() !== undefined, `${type} of ${executionId}`, limit);
    return found() as Report & { type: Type };
  }

  /** Waits until `condition` holds, looking after every request; fails after `limit` (when it hangs), telling what was heard. */
  async until(condition: () => boolean, what: string, limit = DEADLINE): Promise<void> {
    const late = new AbortController();
    const deadline = systemTimers.after(limit, () => {
      late.abort();
      this.happen();
    });
    try {
      while (!condition()) {
        if (late.signal.aborted) throw new Error(`never happened: ${what}; heard ${JSON.stringify(this.reports)}`);
        await this.happened.promise;
      }
    } finally {
      deadline.cancel();
    }
  }

  private change(): void {
    this.revision += 1;
    this.changed.resolve(undefined);
    this.changed = Promise.withResolvers();
  }

  private happen(): void {
    this.happened.resolve(undefined);
    this.happened = Promise.withResolvers();
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const reply = await this.answer(request, await this.bodyOf(request));
      if (response.destroyed) return;
      response.statusCode = reply.status;
      if (reply.offset) response.setHeader('escalon-upload-offset', reply.offset);
      if (reply.range) response.setHeader('content-range', `bytes ${reply.range}`);
      if (reply.bytes) response.setHeader('content-length', reply.bytes.length);
      response.end(reply.bytes ?? JSON.stringify(reply.body ?? {}));
    } catch {
      response.destroy();
    } finally {
      this.happen();
    }
  }

  /** Of an upload also what came before it broke off, which the next one goes on with. */
  private async bodyOf(request: IncomingMessage): Promise<Buffer> {
    const url = new URL(request.url ?? '/', 'http://x');
    const sha256 = request.method === 'PUT' && /^\/v1\/artifacts\/(\w+)$/.exec(url.pathname)?.[1];
    const begin = sha256
      ? this.partial.get(sha256)?.subarray(0, Number(url.searchParams.get('offset') ?? 0))
      : undefined;
    const chunks = [begin ?? Buffer.alloc(0)];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        if (sha256) this.uploaded += chunk.length;
      }
    } catch (error) {
      if (sha256) this.partial.set(sha256, Buffer.concat(chunks));
      throw error;
    }
    return Buffer.concat(chunks);
  }

  private async answer(request: IncomingMessage, body: Buffer): Promise<Reply> {
    const url = new URL(request.url ?? '/', 'http://x');
    const [, , kind = '', id = '', verb = ''] = url.pathname.split('/');
    this.requests.push(`${request.method} ${url.pathname}`);
    const json = (): unknown => JSON.parse(body.toString());
    switch (`${request.method} ${kind} ${kind === 'artifacts' ? '' : verb || id}`.trim()) {
      case 'POST nodes enroll':
        return this.enrol(json() as EnrollRequest, request.headers.authorization ?? '');
      case 'PUT nodes inventory':
        this.inventories.push(json() as Inventory);
        return { status: 200 };
      case 'PUT nodes cache':
        this.caches.push((json() as CacheRequest).inputs);
        return { status: 200 };
      case 'POST nodes heartbeat':
      case 'POST nodes leave':
        return this.count(verb);
      case 'GET nodes assignments':
        return this.assignments(url, request);
      case 'POST nodes reports':
        return { status: 200, body: (json() as Report[]).map((report) => this.record(report)) };
      case 'PUT executions logs':
        return this.appendLog(`${id}/${url.searchParams.get('stream')}`, url.searchParams, body);
      case 'HEAD artifacts':
        return this.artifacts.has(id) ? { status: 200 } : { status: 404, offset: this.partial.get(id)?.length };
      case 'GET artifacts':
        return this.artifact(id, request.headers.range);
      case 'PUT artifacts':
        return { status: this.store(body) === id ? 201 : 422 };
      case 'GET jobs results':
        return this.results.has(id)
          ? { status: 200, body: { items: [{ state: 'succeeded', artifacts: this.results.get(id) }] } }
          : { status: 404 };
      default:
        if (kind !== 'executions') return { status: 404 };
        if (this.malformed.has(verb))
          return { status: 422, body: { code: 'VALIDATION_FAILED', detail: 'too many artifacts' } };
        return { status: 200, body: this.record({ ...(json() as object), executionId: id, type: verb } as Report) };
    }
  }

  private enrol(request: EnrollRequest, token: string): Reply {
    this.enrolments.push(request);
    this.enrolTokens.push(token);
    return { status: 200, body: { nodeId: request.name, token: 'node-token', heartbeatInterval: 1 } };
  }

  private count(verb: string): Reply {
    if (verb === 'leave') this.leaves += 1;
    else this.heartbeats += 1;
    return { status: 200 };
  }

  private record(report: Report): ReportAnswer {
    this.reports.push(report);
    const { executionId } = report;
    if (this.stale.has(executionId)) return { executionId, accepted: false, reason: 'no longer current' };
    if (report.type === 'succeed' || report.type === 'fail') this.unassign(executionId);
    return { executionId, accepted: true };
  }

  private async assignments(url: URL, request: IncomingMessage): Promise<Reply> {
    if (url.searchParams.get('after') === String(this.revision)) {
      const over = Promise.withResolvers<undefined>();
      const timer = systemTimers.after(25_000, () => over.resolve(undefined));
      request.socket.once('close', () => over.resolve(undefined));
      await Promise.race([this.changed.promise, over.promise]);
      timer.cancel();
    }
    return { status: 200, body: { revision: String(this.revision), executions: [...this.assigned.values()] } };
  }

  private appendLog(key: string, query: URLSearchParams, bytes: Buffer): Reply {
    const [offset, gap] = [Number(query.get('offset')), Number(query.get('gap') ?? 0)];
    const parts = this.logs.get(key) ?? [];
    const last = parts.at(-1) ?? { begin: 0, bytes: Buffer.alloc(0) };
    if (parts.length === 0) this.logs.set(key, [last]);
    last.bytes = last.bytes.subarray(0, last.bytes.length - Math.min(this.forgetLogs, last.bytes.length));
    this.forgetLogs = 0;
    const end = last.begin + last.bytes.length;
    if (offset - gap > end) return { status: 409, body: { code: 'LOG_GAP', expected: end } };
    if (offset > end) this.logs.get(key)?.push({ begin: offset, bytes });
    else last.bytes = Buffer.concat([last.bytes, bytes.subarray(end - offset)]);
    return { status: 200, body: { nextOffset: Math.max(end, offset + bytes.length) } };
  }

  private artifact(sha256: string, range: string | undefined): Reply {
    const bytes = this.artifacts.get(sha256);
    if (!bytes) return { status: 404, body: { code: 'ARTIFACT_NOT_FOUND' } };
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    if (start > 0)
      return { status: 206, bytes: bytes.subarray(start), range: `${start}-${bytes.length - 1}/${bytes.length}` };
    return { status: 200, bytes: this.corrupt.has(sha256) ? Buffer.from(`not ${bytes.toString()}`) : bytes };
  }
}
