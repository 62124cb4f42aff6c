import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { uniqueName, mustAppend, numbered } from '#event-store/conformance';
import { startEventStore } from '../../apps/eventstore/server.js';
import { connect, plainUrl, ServerProcess, startServer } from './servers.js';
import type { AddressInfo } from 'node:net';
import type { ConnectedEventStore } from '#event-store';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'escalon-tls-'));
});
afterAll(() => rm(folder, { recursive: true }));

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A certificate for 127.0.0.1 that signs itself. */
const certificate = (name: string): { certFile: string; keyFile: string } => {
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', certFile, '-days', '2', ...subject], { stdio: 'ignore' });
  return { certFile, keyFile };
};

/** What the store says, and a promise for the first complaint that fits. */
const listen = (url: string, sign: RegExp): { store: ConnectedEventStore; complaint: Promise<string> } => {
  let complain: (cause: string) => void = () => undefined;
  const complaint = new Promise<string>((resolve) => (complain = resolve));
  const warn = (details: object): void => {
    const { cause } = details as { cause: string };
    if (sign.test(cause)) complain(cause);
  };
  const store = connect(url, { timeout: 5_000, logger: { info: () => undefined, warn } });
  opened.push(() => store.close());
  return { store, complaint };
};

describe('the error at start names its cause, and the process keeps trying', () => {
  it('nothing listens on the port; then something does', async () => {
    const first = await startServer();
    await first.stop();
    const { store, complaint } = listen(first.url, /nothing listens there/);
    expect(await complaint).toContain(`127.0.0.1:${first.port}`);
    expect(store.status()).toMatchObject({ connected: false, lastError: expect.stringContaining('ECONNREFUSED') });
    const second = await startServer({ port: first.port });
    opened.push(() => second.stop());
    await mustAppend(store, uniqueName('start'), [numbered(0)], 'none');
    expect(store.status()).toMatchObject({ connected: true });
    expect(store.status()).not.toHaveProperty('lastError');
  });

  it('a server certificate from another CA', async () => {
    const [right, wrong] = [certificate('right'), certificate('wrong')];
    const server = await startEventStore({ file: join(folder, 'ca.db'), tls: right });
    opened.push(() => server.stop());
    const url = (ca: string): string => `esdb://admin:changeit@127.0.0.1:${server.port}?tlsCAFile=${ca}`;
    expect(await listen(url(wrong.certFile), /tlsCAFile/).complaint).toMatch(/not signed by a CA known here/);
    const good = connect(url(right.certFile));
    opened.push(() => good.close());
    expect(await mustAppend(good, uniqueName('tls'), [numbered(0)], 'none')).toMatchObject({ revision: 0n });
  });

  it('a wrong password', async () => {
    const tls = certificate('users');
    const server = await startEventStore({ file: join(folder, 'users.db'), tls });
    opened.push(() => server.stop());
    const url = `esdb://admin:wrong@127.0.0.1:${server.port}?tlsCAFile=${tls.certFile}`;
    const { store, complaint } = listen(url, /does not accept the user name|does not allow/);
    expect(await complaint).not.toContain('wrong@');
    await expect(store.head()).rejects.toThrow();
  });

  it('TLS to a plain server', async () => {
    const server = await ServerProcess.start();
    opened.push(() => server.remove());
    const { complaint } = listen(`esdb://127.0.0.1:${server.port}?tls=true`, /does not speak TLS/);
    expect(await complaint).toContain('tls=false');
  });

  it('a web server or a proxy without HTTP/2', async () => {
    const web = createServer((_, response) => response.end('hello'));
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    opened.push(() => new Promise((resolve) => web.close(resolve)));
    const { complaint } = listen(plainUrl((web.address() as AddressInfo).port), /HTTP\/2|closed by the other side/);
    expect(await complaint).toMatch(/does not speak gRPC over HTTP\/2/);
  });

  it('a malformed connection string fails the start itself', () => {
    expect(() => connect('postgres://127.0.0.1')).toThrow();
    expect(() => connect('esdb://127.0.0.1:1?tlsCAFile=/nowhere.crt')).toThrow(/certificate/i);
  });
});
