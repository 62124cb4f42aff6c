import { createServer, request as ask } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands before a control plane for an agent, and never answers what has to do with artifacts: publishing goes on for ever. */
export class HeldUploads {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async before(target: string): Promise<HeldUploads> {
    const server = createServer((request, response) => pass(target, request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new HeldUploads(server, `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const pass = (target: string, request: IncomingMessage, response: ServerResponse): void => {
  const { method, url = '/', headers } = request;
  if (url.startsWith('/v1/artifacts/')) return;
  const onward = ask(target + url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
};
