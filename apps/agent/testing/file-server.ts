import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createPlain } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';

/** What lies at a path. */
interface ServedFile {
  readonly content: Content;
  /** Entity tag with its quotes; '' for none. */
  readonly tag: string;
}

/** Bytes that need not be in memory: `read` makes those from `start` to `end`, both inclusive. */
export interface Content {
  readonly size: number;
  read(start: number, end: number): Readable;
}

export const contentOf = (text: string | Buffer): Content => {
  const bytes = Buffer.from(text);
  return { size: bytes.length, read: (start, end) => Readable.from([bytes.subarray(start, end + 1)]) };
};

const BLOCK = 1024 * 1024;
const PIECE = 64 * 1024;
const FILLING = Buffer.alloc(PIECE, 7);

/** So many bytes, each MiB with its number at the front so that none is like another. Most are the same piece of memory. */
export const generated = (size: number): Content => ({
  size,
  read: (start, end) =>
    Readable.from(
      (function* () {
        for (let at = start; at <= end;) {
          const skipped = at % PIECE;
          const bytes = pieceAt(at - skipped).subarray(skipped, skipped + end + 1 - at);
          at += bytes.length;
          yield bytes;
        }
      })(),
    ),
});

const pieceAt = (at: number): Buffer => {
  if (at % BLOCK !== 0) return FILLING;
  const piece = Buffer.from(FILLING);
  piece.writeUInt32BE(at / BLOCK);
  return piece;
};

export const sha256Of = async (content: Content): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of content.read(0, content.size - 1)) hash.update(chunk as Buffer);
  return hash.digest('hex');
};

/** A self-signed certificate for 127.0.0.1 and localhost in a folder, which is its own authority. */
export const selfSigned = (folder: string): { readonly cert: string; readonly key: string } => {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const make = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  execFileSync('openssl', [...make, '-keyout', key, '-out', cert, ...names], { stdio: 'ignore' });
  return { cert, key };
};

/** A server of files as they are found on the web: with ranges, entity tags, redirects, and now and then an error. */
export class FileServer {
  /** `GET /path`, with the range asked for. */
  readonly requests: string[] = [];
  readonly files = new Map<string, ServedFile>();
  readonly redirects = new Map<string, string>();
  /** Statuses that are answered first, one for each request. */
  readonly troubles: number[] = [];
  /** Whether ranges are answered, or ignored as many servers do. */
  ranges = true;

  private constructor(
    private readonly server: Server,
    private readonly protocol: string,
  ) {}

  /** With a certificate by https, else by http. */
  static async start(tls?: { readonly cert: string; readonly key: string }): Promise<FileServer> {
    const server = tls ? createSecure({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }) : createPlain();
    const files = new FileServer(server, tls ? 'https' : 'http');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => files.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return files;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  url(path: string, port = this.port, host = '127.0.0.1'): string {
    return `${this.protocol}://${host}:${port}${path}`;
  }

  put(path: string, content: Content, tag = `"${path}-1"`): void {
    this.files.set(path, { content, tag });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '/';
    const { range } = request.headers;
    this.requests.push(`${request.method} ${path}${range === undefined ? '' : ` ${range}`}`);
    const trouble = this.troubles.shift();
    if (trouble !== undefined) return void response.writeHead(trouble, { 'retry-after': '0' }).end();
    const location = this.redirects.get(path);
    if (location !== undefined) return void response.writeHead(302, { location }).end();
    const file = this.files.get(path);
    if (!file) return void response.writeHead(404).end();
    this.send(file, this.startOf(request, file), response);
  }

  /** Where the answer begins: at what the range asks for, if the file is still what `If-Range` names. */
  private startOf({ headers }: IncomingMessage, { tag }: ServedFile): number {
    const [, start] = /^bytes=(\d+)-$/.exec(headers.range ?? '') ?? [];
    const same = headers['if-range'] === undefined || headers['if-range'] === tag;
    return this.ranges && same && start !== undefined ? Number(start) : 0;
  }

  private send({ content, tag }: ServedFile, start: number, response: ServerResponse): void {
    const { size } = content;
    if (start > 0 && start >= size) return void response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    if (tag !== '') response.setHeader('etag', tag);
    response.setHeader('content-length', size - start);
    if (start > 0) response.setHeader('content-range', `bytes ${start}-${size - 1}/${size}`);
    response.writeHead(start > 0 ? 206 : 200);
    const body = content.read(start, size - 1);
    body.pipe(response);
    response.on('close', () => body.destroy());
  }
}
