import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemTimers } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { hookCommand, webhook } from './index.js';

const event: RecordedEvent = {
  id: 'e-1',
  type: 'JobCompleted',
  stream: 'job-17',
  revision: 9n,
  position: 4096n,
  recordedAt: Date.UTC(2026, 10, 29),
  data: { at: '2026-11-29T00:00:00.000Z' },
  metadata: { schemaVersion: 1, actor: 'node:n1' },
};
const notice = {
  ...{ id: 'e-1', type: 'JobCompleted', stream: 'job-17', revision: '9', position: '4096', data: event.data },
  recordedAt: '2026-11-29T00:00:00.000Z',
};
const going = new AbortController().signal;
/** Longer than any machine takes. */
const LONG = 200_000;

describe('E-08 a webhook', () => {
  let server: Server;
  let url: string;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const bodies: string[] = [];
  const headers: IncomingMessage['headers'][] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        bodies.push(body);
        headers.push(request.headers);
        answer(request, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('gets the event as it is stored, signed', async () => {
    answer = (_request, response) => response.writeHead(204).end();
    await webhook({ url, secret: 'shared', timeout: LONG }, systemTimers)(event, going);
    const body = bodies.at(-1)!;
    expect(JSON.parse(body)).toMatchObject(notice);
    expect(headers.at(-1)).toMatchObject({
      'content-type': 'application/json',
      'escalon-event': 'JobCompleted',
      'escalon-delivery': 'e-1',
      'escalon-signature': `sha256=${createHmac('sha256', 'shared').update(body).digest('hex')}`,
    });
  });

  it.each([500, 404, 302])('has not taken it when it answers %d', async (status) => {
    answer = (_request, response) => response.writeHead(status, { location: '/elsewhere' }).end('no');
    const delivery = webhook({ url, timeout: LONG }, systemTimers)(event, going);
    await expect(delivery).rejects.toThrow(`the answer was ${String(status)}`);
  });

  it('has not taken it when it does not answer in time, breaks off, or is not there', async () => {
    answer = () => undefined;
    const silent = webhook({ url, timeout: 50 }, systemTimers)(event, going);
    await expect(silent).rejects.toThrow('no answer within 0.05 s');
    answer = (request) => request.socket.destroy();
    await expect(webhook({ url, timeout: LONG }, systemTimers)(event, going)).rejects.toThrow();
    const nowhere = webhook({ url: 'http://127.0.0.1:1/', timeout: LONG }, systemTimers);
    await expect(nowhere(event, going)).rejects.toThrow(/ECONNREFUSED|bad port/);
  });
});

/** A letter of the kernel's; what is dead may wait for its parent as a zombie. */
const stateOf = async (pid: number): Promise<string> => {
  const stat = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(() => '(x) gone');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0] ?? '';
};

describe('E-08 a hook that is a program', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'escalon-hook-'));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  const run = (script: string, timeout = LONG): Promise<void> =>
    hookCommand({ command: ['sh', '-c', script, folder], timeout }, systemTimers)(event, going);

  it('gets the event on its input, and what it is about in its environment, but no secret of ours', async () => {
    process.env['ESCALON_SECRET'] = 'not for hooks';
    const file = join(folder, 'seen');
    await run(
      `cat > ${file}; echo "$ESCALON_EVENT $ESCALON_SUBJECT $ESCALON_DELIVERY [$ESCALON_SECRET]" > ${file}.env`,
    );
    delete process.env['ESCALON_SECRET'];
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject(notice);
    expect(await readFile(`${file}.env`, 'utf8')).toBe('JobCompleted 17 e-1 []\n');
  });

  it('has taken it with exit code 0, whether or not it read its input', async () => {
    await run('exit 0');
    await expect(run('echo "out of ink" >&2; exit 3')).rejects.toThrow('it ended with 3: out of ink');
    const missing = hookCommand({ command: [join(folder, 'nothing')], timeout: 1_000 }, systemTimers);
    await expect(missing(event, going)).rejects.toThrow('ENOENT');
  });

  it('is killed with all it started when it takes too long', async () => {
    const file = join(folder, 'pid');
    await writeFile(file, '');
    await expect(run(`sleep 60 & echo $! > ${file}; wait`, 2_000)).rejects.toThrow('it did not end within 2 s');
    const pid = Number(await readFile(file, 'utf8'));
    expect(pid).toBeGreaterThan(0);
    // It has been killed; when the kernel sees to that is its own affair.
    while (!/^(?:gone|Z)$/.test(await stateOf(pid))) await setImmediate();
  });
});
