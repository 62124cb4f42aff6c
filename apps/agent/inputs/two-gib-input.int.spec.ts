import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { diskUsage } from '../metering/disk-usage.js';
import { AgentWorld } from '../testing/agent-world.js';
import { someAssignment } from '../testing/assignments.js';
import { CuttingProxy } from '../testing/cutting-proxy.js';
import { eventually } from '../testing/eventually.js';
import { FileServer, generated, sha256Of } from '../testing/file-server.js';
import type { Content } from '../testing/file-server.js';

const MIB = 2 ** 20;
/** Over 2³¹, so that no count fits into 32 bits with a sign, and no multiple of anything. */
const SIZE = 2 ** 31 + 12_345;

let world: AgentWorld;
let server: FileServer;
let proxy: CuttingProxy;

beforeEach(async () => {
  world = await AgentWorld.start();
  server = await FileServer.start();
  proxy = await CuttingProxy.to(server.port);
});

afterEach(async () => {
  await world.stop();
  await proxy.close();
  await server.close();
});

/** The same content, and the most memory that this process took at any of its chunks while it was read. */
const watched = (content: Content): { readonly content: Content; readonly mostMemory: () => number } => {
  let most = 0;
  const look = (): void => void (most = Math.max(most, process.memoryUsage.rss()));
  const read: Content['read'] = (start, end) => content.read(start, end).on('data', look);
  return { content: { size: content.size, read }, mostMemory: () => most };
};

describe('2 GiB input cut off twice', () => {
  it('resumed, verified, cached; the second job fetches nothing', async () => {
    const sha256 = await sha256Of(generated(SIZE));
    const { content, mostMemory } = watched(generated(SIZE));
    server.put('/big', content);
    proxy.cutAfter(Math.floor(SIZE / 3), Math.floor(SIZE / 3));
    await world.begin({ allowHttp: true, allowAddresses: ['127.0.0.1'] });
    const inputs = [{ source: server.url('/big', proxy.port), sha256, path: 'in/big' }];
    const before = process.memoryUsage.rss();

    world.plane.assign(someAssignment('job1.e1', ['openssl', 'dgst', '-sha256', '-r', 'in/big'], {}, { inputs }));
    const first = await world.plane.reported('job1.e1', 'succeed', 600_000);
    await eventually(() => readdirSync(join(world.data, 'tasks')).length === 0, 'its folder is gone');
    world.plane.assign(someAssignment('job2.e1', ['wc', '-c', 'in/big'], {}, { inputs }));
    const second = await world.plane.reported('job2.e1', 'succeed', 600_000);

    // Resumed: three answers that go on where the one before broke off, and not a byte twice.
    const starts = server.requests.map((request) => Number(/bytes=(\d+)-$/.exec(request)?.[1] ?? 0));
    expect([proxy.broken, server.requests.length, starts[0]]).toEqual([2, 3, 0]);
    expect(starts[1]).toBeGreaterThan(SIZE / 4);
    expect(starts[2]).toBeGreaterThan((starts[1] ?? 0) + SIZE / 4);
    // Verified and cached, once; the second job fetched nothing of it.
    expect([first.consumption.bytesIn, second.consumption.bytesIn]).toEqual([SIZE, 0]);
    expect(world.plane.log('job1.e1', 'stdout')).toBe(`${sha256} *in/big\n`);
    expect(world.plane.log('job2.e1', 'stdout')).toBe(`${SIZE} in/big\n`);
    expect(await diskUsage(join(world.data, 'cache'))).toBeLessThan(SIZE + MIB);
    // It went through the memory of this process, which is server and agent, and did not stay there.
    expect(mostMemory() - before).toBeLessThan(SIZE / 4);
  }, 1_200_000);
});
