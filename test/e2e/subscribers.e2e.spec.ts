import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { enrolLabelled, eventually, submitLabelled, TestSystem, wholeLog } from '../system/index.js';
import type { RawEvent } from '../system/index.js';

const TOLD = [
  'JobSubmitted',
  'ExecutionReserved',
  'ReservationConfirmed',
  'ReservationDeclined',
  'ExecutionSucceeded',
  'JobCompleted',
  'JobFailed',
];

/** Subscribers of a control plane: a webhook that is down at times, and a program. */
describe('subscribers', () => {
  let system: TestSystem;
  let folder: string;
  let server: Server;
  /** What the webhook took, in the order it came, and how it answers. */
  const taken: RawEvent[] = [];
  let refuses = false;
  let refused = 0;

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        if (refuses) refused += 1;
        else taken.push(JSON.parse(body) as RawEvent);
        response.writeHead(refuses ? 503 : 204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    folder = await mkdtemp(join(tmpdir(), 'escalon-subscribers-'));
    const file = join(folder, 'subscribers.json');
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
    const hook = ['sh', '-c', `cat >> ${folder}/tape; echo >> ${folder}/tape`];
    const subscribers = [
      { name: 'web', url, events: TOLD, from: 'start' },
      { name: 'tape', command: hook, events: ['JobCompleted'], from: 'start' },
    ];
    await writeFile(file, JSON.stringify({ subscribers }));
    system = await TestSystem.start({ env: { ESCALON_SUBSCRIBERS_FILE: file, ESCALON_OFFLINE_AFTER: '600' } });
  });

  afterAll(async () => {
    await system.stop();
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });

  const toldOf = (jobId: string): string[] =>
    taken.filter(({ stream }) => stream === `job-${jobId}`).map(({ type }) => type);
  const metric = async (line: string): Promise<number> => {
    const text = String((await system.operator().request('GET', '/metrics')).body);
    return Number(
      text
        .split('\n')
        .find((one) => one.startsWith(`${line} `))
        ?.slice(line.length) ?? 0,
    );
  };

  it('E-08 hear of creation, offer, decline, confirmation, completion as they happen, in order', async () => {
    const node = await enrolLabelled(system, 'told-1', 'told');
    const jobId = await submitLabelled(system, 'told');
    const first = await node.assigned(jobId);
    await eventually(
      () => Promise.resolve(toldOf(jobId)),
      (types) => types.length === 2,
    );
    await node.report('decline', first, { reason: 'busy' });
    const other = await enrolLabelled(system, 'told-2', 'told');
    const second = await other.assigned(jobId);
    await other.report('confirm', second);
    await eventually(
      () => Promise.resolve(toldOf(jobId)),
      (types) => types.includes('ReservationConfirmed'),
    );
    await other.succeed(second);
    await eventually(
      () => Promise.resolve(toldOf(jobId)),
      (types) => types.includes('JobCompleted'),
    );
    expect(toldOf(jobId)).toEqual([
      ...['JobSubmitted', 'ExecutionReserved', 'ReservationDeclined', 'ExecutionReserved'],
      ...['ReservationConfirmed', 'ExecutionSucceeded', 'JobCompleted'],
    ]);
    const log = await wholeLog(system.operator());
    expect(taken[0]).toEqual(log.find(({ type }) => type === 'JobSubmitted'));
    const tape = await eventually(
      () => readFile(join(folder, 'tape'), 'utf8'),
      (text) => text.includes('\n'),
    );
    expect(JSON.parse(tape)).toMatchObject({ type: 'JobCompleted', stream: `job-${jobId}` });
  });

  it('E-08 one that fails is told again and misses nothing, over restarts of the control plane too', async () => {
    refuses = true;
    const jobs: string[] = [];
    for (let count = 0; count < 3; count += 1) jobs.push(await submitLabelled(system, 'told-by-nobody'));
    await eventually(
      () => Promise.resolve(refused),
      (count) => count >= 3,
    );
    await eventually(
      () => metric('escalon_subscriber_deliveries_total{subscriber="web",result="failed"}'),
      (count) => count >= 3,
    );
    await eventually(
      () => metric('escalon_subscriber_lag_seconds{subscriber="web"}'),
      (lag) => lag > 0,
    );
    expect(system.report()).toContain('a subscriber did not take an event, it is tried again');
    await system.orchestrators[0]!.kill('SIGKILL');
    await system.orchestrators[0]!.start();
    const late = await submitLabelled(system, 'told-by-nobody');
    await eventually(
      () => Promise.resolve(refused),
      (count) => count >= 6,
    );
    await system.orchestrators[0]!.stop();
    await system.orchestrators[0]!.start();
    refuses = false;
    await eventually(
      () => Promise.resolve([...jobs, late].map((jobId) => toldOf(jobId).length)),
      (counts) => counts.every((count) => count > 0),
    );
    const log = (await wholeLog(system.operator())).filter(({ type }) => TOLD.includes(type));
    const seen = await eventually(
      () => Promise.resolve(new Set(taken.map(({ position }) => position))),
      (positions) => log.every(({ position }) => positions.has(position)),
    );
    expect(seen.size).toBe(log.length);
    await eventually(
      () => metric('escalon_subscriber_waiting_events{subscriber="web"}'),
      (waiting) => waiting === 0,
    );
  });
});
