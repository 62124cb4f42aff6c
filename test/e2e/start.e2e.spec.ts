import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '#platform/postgres';
import { eventually, ManagedProcess, SECRET } from '../system/index.js';

/** A control plane whose stores are not there, or whose configuration is wrong. */
describe('starting a control plane', () => {
  const orchestrator = (env: Readonly<Record<string, string>>): ManagedProcess =>
    new ManagedProcess('orchestrator', [], {
      ESDB_URL: 'esdb://127.0.0.1:1?tls=false',
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
      ESCALON_SECRET: SECRET,
      ...env,
    });

  it('names every mistake of its configuration and ends with 1', async () => {
    const wrong = orchestrator({ PORT: 'abc', ESDB_URL: 'http://x', ESCALON_SECRET: 'short', LOG_LEVEL: 'loud' });
    await expect(wrong.start()).rejects.toThrow('ended (1)');
    for (const name of ['PORT', 'ESDB_URL', 'ESCALON_SECRET', 'LOG_LEVEL']) expect(wrong.output).toContain(name);
  });

  it('ends with 1 when its port is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    const { port } = holder.address() as AddressInfo;
    const second = orchestrator({ PORT: String(port) });
    await expect(second.start()).rejects.toThrow('ended (1)');
    expect(second.output).toContain(`EADDRINUSE: address already in use 127.0.0.1:${String(port)}`);
    holder.close();
  });

  it('without its stores it is alive, not ready, keeps trying, and stops when told', async () => {
    const port = await freePort();
    const waiting = orchestrator({ PORT: String(port) });
    const ended = waiting.start().catch(() => 'ended');
    const ask = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${String(port)}${path}`);
    await eventually(
      async () => (await ask('/livez')).status,
      (status) => status === 200,
    );
    expect((await ask('/readyz')).status).toBe(503);
    const wrong = (await (await ask('/readyz?verbose')).json()) as { wrong: Record<string, string> };
    expect(Object.keys(wrong.wrong)).toEqual(expect.arrayContaining(['process', 'eventStore', 'database']));
    const refused = await ask('/v1/jobs');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ code: 'NOT_READY', retryable: true });
    expect(await waiting.stop()).toBe(0);
    expect(await ended).toBe('ended');
  });
});
