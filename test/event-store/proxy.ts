import { connect, createServer } from 'node:net';
import { plainUrl } from './servers.js';
import type { AddressInfo, Server, Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** A wire between client and server that can be cut, and that can keep the server's answers back. */
export class Proxy {
  /** Bytes that the server sent and the wire has passed on. */
  answered = 0;
  private readonly pairs = new Set<Pair>();
  private holding = false;

  private constructor(private readonly listener: Server) {}

  static async to(port: number): Promise<Proxy> {
    const listener = createServer();
    const proxy = new Proxy(listener);
    listener.on('connection', (client) => proxy.join(client, connect(port, '127.0.0.1')));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return plainUrl((this.listener.address() as AddressInfo).port);
  }

  /** Answers stop coming on the connections that exist, and on new ones too if `also` says so; requests still arrive. */
  holdAnswers(also: 'existing' | 'new connections too'): void {
    this.holding = also === 'new connections too';
    for (const { server } of this.pairs) server.pause();
  }

  release(): void {
    this.holding = false;
    for (const { server } of this.pairs) server.resume();
  }

  /** Every connection is lost, with what was held back. */
  cut(): void {
    this.holding = false;
    for (const { client, server } of this.pairs) {
      client.destroy();
      server.destroy();
    }
    this.pairs.clear();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.listener.close(resolve));
    this.cut();
    await closed;
  }

  private join(client: Socket, server: Socket): void {
    const pair = { client, server };
    this.pairs.add(pair);
    client.pipe(server);
    server.on('data', (bytes) => {
      this.answered += bytes.length;
      if (client.write(bytes)) return;
      server.pause();
      client.once('drain', () => {
        if (!this.holding) server.resume();
      });
    });
    if (this.holding) server.pause();
    const end = (): void => {
      this.pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('close', end).on('error', end);
  }
}
