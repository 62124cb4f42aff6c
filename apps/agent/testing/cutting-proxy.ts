import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A wire to a local port that breaks as often as it is told: each time after so many bytes of answer, or of requests. */
export class CuttingProxy {
  /** Bytes of answer that went through, over all connections. */
  passed = 0;
  /** How often it broke so far. */
  broken = 0;
  private readonly sockets = new Set<Socket>();
  private cuts: number[] = [];
  private left = Infinity;
  private sendCuts: number[] = [];
  private sendLeft = Infinity;

  private constructor(private readonly listener: Server) {}

  static async to(port: number): Promise<CuttingProxy> {
    const listener = createServer();
    const proxy = new CuttingProxy(listener);
    listener.on('connection', (client) => proxy.join(client, connect(port, '127.0.0.1')));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  /** Breaks all connections after so many further bytes, then again after so many more, and so on. */
  cutAfter(...bytes: number[]): void {
    this.cuts = bytes;
    this.left = this.cuts.shift() ?? Infinity;
  }

  /** Breaks all connections after so many further bytes of requests, then again after so many more, and so on. */
  cutAfterSent(...bytes: number[]): void {
    this.sendCuts = bytes;
    this.sendLeft = this.sendCuts.shift() ?? Infinity;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.listener.close(resolve));
    this.destroyAll();
    await closed;
  }

  private join(client: Socket, server: Socket): void {
    client.on('data', (bytes) => this.send(bytes, client, server));
    server.on('data', (bytes) => {
      const passing = bytes.subarray(0, this.left);
      this.passed += passing.length;
      this.left -= passing.length;
      if (this.left === 0) return this.cut(client, passing);
      if (client.write(passing)) return;
      server.pause();
      client.once('drain', () => server.resume());
    });
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      const end = (): void => {
        this.sockets.delete(socket);
        client.destroy();
        server.destroy();
      };
      socket.on('close', end).on('error', end);
    }
  }

  private send(bytes: Buffer, client: Socket, server: Socket): void {
    const passing = bytes.subarray(0, this.sendLeft);
    this.sendLeft -= passing.length;
    if (this.sendLeft === 0) {
      this.broken += 1;
      this.sendLeft = this.sendCuts.shift() ?? Infinity;
      server.end(passing, () => this.destroyAll());
      return;
    }
    if (server.write(passing)) return;
    client.pause();
    server.once('drain', () => client.resume());
  }

  /** The last bytes still arrive: what is tested is a transfer that goes on, not one that lost nothing yet. */
  private cut(client: Socket, last: Buffer): void {
    this.broken += 1;
    this.left = this.cuts.shift() ?? Infinity;
    client.end(last, () => this.destroyAll());
  }

  private destroyAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}
