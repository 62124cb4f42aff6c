import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seededRandom, systemTimers } from '#kernel';
import type { Timers } from '#kernel';
import { Http } from '../client/http.js';
import type { ExecutionFault } from '../executions/ending.js';
import { CuttingProxy } from '../testing/cutting-proxy.js';
import { contentOf, FileServer, selfSigned, sha256Of } from '../testing/file-server.js';
import { RecordedControlPlane } from '../testing/recorded-control-plane.js';
import { artifactOrigin, webOrigin } from './origins.js';
import { transfer } from './transfer.js';
import type { Origin, Transfer } from './transfer.js';
import { WebClient } from './web-client.js';
import type { WebRules } from './web-client.js';

const KIB = 1024;
const bytes = randomBytes(600 * KIB);
const LOOPBACK: WebRules = { allowHttp: true, allowAddresses: ['127.0.0.0/8'] };

let folder: string;
let path: string;
let server: FileServer;
let sha256: string;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'escalon-transfer-'));
  path = join(folder, 'file');
  server = await FileServer.start();
  server.put('/data', contentOf(bytes));
  sha256 = await sha256Of(contentOf(bytes));
  closing.push(() => server.close());
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await rm(folder, { recursive: true, force: true });
});

const web = (rules = LOOPBACK): WebClient => {
  const client = new WebClient(rules);
  closing.push(() => client.close());
  return client;
};

/** Waits pass at once, and are told. */
const pauses: number[] = [];
const hurried: Timers = {
  every: (interval, run) => systemTimers.every(interval, run),
  after: (delay, run) => {
    pauses.push(delay);
    return systemTimers.after(0, run);
  },
};

/** Whether the file is exactly this. (`toEqual` compares byte by byte, which takes seconds.) */
const holds = async (expected: Buffer): Promise<boolean> => (await readFile(path)).equals(expected);

interface Fetched {
  readonly received: number;
}

const fetched = async (origin: Origin, more: Partial<Transfer> = {}): Promise<Fetched> => {
  pauses.length = 0;
  let received = 0;
  const what = {
    origin,
    path,
    sha256,
    limit: 1024 * KIB,
    received: (count: number) => void (received += count),
    ...more,
  };
  await transfer(what, hurried, seededRandom(1), new AbortController().signal);
  return { received };
};

const through = async (port: number, ...cuts: number[]): Promise<CuttingProxy> => {
  const proxy = await CuttingProxy.to(port);
  proxy.cutAfter(...cuts);
  closing.push(() => proxy.close());
  return proxy;
};

describe('a download from the web', () => {
  it('goes on where it was cut off, with If-Range, and fetches no byte twice', async () => {
    const proxy = await through(server.port, 200 * KIB, 200 * KIB);

    const { received } = await fetched(webOrigin(web(), server.url('/data', proxy.port)));

    expect(await holds(bytes)).toBe(true);
    expect(received).toBe(bytes.length);
    expect(proxy.broken).toBe(2);
    expect(server.requests).toHaveLength(3);
    expect(server.requests.slice(1).every((request) => /^GET \/data bytes=[1-9]\d+-$/.test(request))).toBe(true);
    expect(pauses.every((pause) => pause <= 250)).toBe(true);
  });

  it('without a digest it goes on only with what is the same by its tag', async () => {
    const proxy = await through(server.port, 200 * KIB);
    const other = randomBytes(bytes.length);
    const asked = webOrigin(web(), server.url('/data', proxy.port));
    const changing: Origin = {
      ...asked,
      open: (continuation, signal) => {
        if (continuation.from > 0) server.put('/data', contentOf(other), '"/data-2"');
        return asked.open(continuation, signal);
      },
    };

    await fetched(changing, { sha256: undefined });

    expect(await holds(other)).toBe(true);
  });

  it('without digest and tag it starts over', async () => {
    server.put('/data', contentOf(bytes), '');
    const proxy = await through(server.port, 200 * KIB);
    await fetched(webOrigin(web(), server.url('/data', proxy.port)), { sha256: undefined });

    expect(await holds(bytes)).toBe(true);
    expect(server.requests).toEqual(['GET /data', 'GET /data']);
  });

  it('starts over where a server knows no ranges', async () => {
    server.ranges = false;
    const proxy = await through(server.port, 200 * KIB);
    const { received } = await fetched(webOrigin(web(), server.url('/data', proxy.port)));

    expect(await holds(bytes)).toBe(true);
    expect(received).toBeGreaterThan(bytes.length);
  });

  it('goes on with what an earlier process left, and starts over when that was something else', async () => {
    await writeFile(path, bytes.subarray(0, 100 * KIB));
    const first = await fetched(webOrigin(web(), server.url('/data')));
    expect(first.received).toBe(500 * KIB);

    await writeFile(path, randomBytes(100 * KIB));
    await fetched(webOrigin(web(), server.url('/data')));
    expect(await holds(bytes)).toBe(true);

    await writeFile(path, Buffer.concat([bytes, bytes]));
    await fetched(webOrigin(web(), server.url('/data')));
    expect(await holds(bytes)).toBe(true);
  });

  it('asks for nothing when all is there already', async () => {
    await writeFile(path, bytes);
    expect(await fetched(webOrigin(web(), server.url('/data')))).toEqual({ received: 0 });
    expect(server.requests).toEqual([]);
  });

  it('bytes that do not verify fail once, with both digests', async () => {
    const expected = '0'.repeat(64);
    await expect(fetched(webOrigin(web(), server.url('/data')), { sha256: expected })).rejects.toMatchObject({
      failure: {
        class: 'input',
        code: 'input-corrupt',
        message: `${server.url('/data')} does not verify: it has sha256 ${sha256}, not ${expected}`,
        diagnostics: { expected, actual: sha256 },
      },
    });
    expect(server.requests).toHaveLength(1);
  });

  it('waits longer and longer for a server in trouble, then gives up as the node’s own trouble', async () => {
    server.troubles.push(503, 503, 429);
    await fetched(webOrigin(web(), server.url('/data')));
    expect(await holds(bytes)).toBe(true);
    expect(pauses).toHaveLength(3);
    pauses.forEach((pause, index) => {
      expect(pause).toBeGreaterThanOrEqual(125 * 2 ** index);
      expect(pause).toBeLessThanOrEqual(250 * 2 ** index);
    });

    await rm(path);
    server.troubles.push(...new Array<number>(8).fill(503));
    await expect(fetched(webOrigin(web(), server.url('/data')))).rejects.toMatchObject({
      failure: { class: 'infrastructure', code: 'input-unreachable' },
    });
  });

  it.each([
    [404, 'input-missing'],
    [410, 'input-missing'],
    [401, 'input-refused'],
    [403, 'input-refused'],
  ])('%i is %s', async (status, code) => {
    server.troubles.push(status);
    await expect(fetched(webOrigin(web(), server.url('/data')))).rejects.toMatchObject({
      failure: { class: 'input', code },
    });
  });

  it('stops at its limit, also where the size was not told', async () => {
    await expect(fetched(webOrigin(web(), server.url('/data')), { limit: 100 })).rejects.toMatchObject({
      failure: { class: 'input', code: 'input-too-large' },
    });
    expect((await stat(path)).size).toBe(0);
  });

  it('follows redirects a few times', async () => {
    server.redirects.set('/a', '/b');
    server.redirects.set('/b', server.url('/data'));
    await fetched(webOrigin(web(), server.url('/a')));
    expect(await holds(bytes)).toBe(true);

    await rm(path);
    server.redirects.set('/round', '/round');
    await expect(fetched(webOrigin(web(), server.url('/round')))).rejects.toMatchObject({
      failure: { code: 'input-source', message: expect.stringContaining('more than 5 times') as unknown },
    });
  });
});

describe('what a node does not fetch', () => {
  const refusal = async (url: string, rules: WebRules): Promise<unknown> =>
    fetched(webOrigin(web(rules), url)).then(
      () => 'fetched',
      (error: unknown) => {
        const { failure } = error as ExecutionFault;
        return `${failure.class} ${failure.code}`;
      },
    );

  it('plain http, first or on the way', async () => {
    const tls = await FileServer.start(selfSigned(folder));
    closing.push(() => tls.close());
    const rules = { ...LOOPBACK, allowHttp: false, authorities: join(folder, 'cert.pem') };
    tls.put('/data', contentOf(bytes));
    tls.redirects.set('/down', server.url('/data'));

    expect(await refusal(server.url('/data'), rules)).toBe('input input-source');
    expect(await refusal(tls.url('/down'), rules)).toBe('input input-source');
    expect(server.requests).toEqual([]);
    expect(await refusal(tls.url('/data'), rules)).toBe('fetched');
  });

  it('what shows a certificate that nobody vouches for', async () => {
    const tls = await FileServer.start(selfSigned(folder));
    closing.push(() => tls.close());
    expect(await refusal(tls.url('/data'), LOOPBACK)).toBe('infrastructure input-unreachable');
  });

  it('its own and its link’s addresses, by number, by name, and on the way', async () => {
    const rules = { allowHttp: true, allowAddresses: [] };
    for (const url of [
      server.url('/data'),
      server.url('/data', server.port, 'localhost'),
      server.url('/data', server.port, '2130706433'),
      server.url('/data', server.port, '0x7f.1'),
      server.url('/data', server.port, '[::1]'),
      server.url('/data', server.port, '[::ffff:127.0.0.1]'),
      'http://169.254.169.254/latest/meta-data/',
    ])
      expect([url, await refusal(url, rules)]).toEqual([url, 'input input-address']);
    expect(server.requests).toEqual([]);

    server.redirects.set('/metadata', 'http://169.254.169.254/latest/meta-data/');
    expect(await refusal(server.url('/metadata'), LOOPBACK)).toBe('input input-address');
  });
});

describe('a download from the artifact store', () => {
  it('goes on where it was cut off', async () => {
    const plane = await RecordedControlPlane.start();
    closing.push(() => plane.down());
    plane.store(bytes);
    const proxy = await through(plane.listeningAt, 200 * KIB, 200 * KIB);
    const http = new Http(`http://127.0.0.1:${proxy.port}`, systemTimers);
    closing.push(() => http.close());

    const { received } = await fetched(artifactOrigin(http, sha256));

    expect(await holds(bytes)).toBe(true);
    expect(received).toBe(bytes.length);
    expect(plane.requests).toHaveLength(3);
  });
});
