import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LogLine } from '#contracts';
import { issueToken } from '#platform/auth';
import { enrolLabelled, SECRET, submitLabelled, TestSystem } from '../system/index.js';
import { eventually, runEscalon, startEscalon } from './escalon-process.js';
import type { EscalonProcess } from './escalon-process.js';

const KIB = 1024;
const LEFT_OUT = /^… [\d.]+ KiB left out here …$/;

let system: TestSystem;

beforeAll(async () => {
  system = await TestSystem.start({ env: { ESCALON_LOG_LIMIT: '256KiB', ESCALON_LOG_CHUNK_LIMIT: '64KiB' } });
});

afterAll(() => system.stop());

/** A service that writes more than anyone keeps, followed by the real command line over everything that may break off. */
describe('E-05 the log of a service that runs on', () => {
  let env: Record<string, string>;
  let jobId: string;
  let following: EscalonProcess;
  let followed = '';
  /** 348,894 bytes. */
  const numbers = Array.from({ length: 60_000 }, (_, index) => String(index + 1));

  const go = (step: string): Promise<void> => writeFile(join(system.folder, step), '');
  const sees = (text: string): Promise<void> => eventually(`${text} is followed`, () => followed.includes(text));
  const escalon = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await runEscalon(args, env);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out;
  };

  beforeAll(async () => {
    env = {
      ESCALON_URL: system.url,
      ESCALON_TOKEN: await issueToken(SECRET, { role: 'operator', account: 'op' }),
    };
    await system.addAgent('noisy', { config: { labels: { test: 'noisy' }, logLimit: '64KiB' } });
    const until = (step: string): string => `while [ ! -e '${join(system.folder, step)}' ]; do sleep 0.05; done`;
    const script = `seq 60000; ${until('one')}; echo newest one; ${until('two')}; echo newest two; exec sleep 1000`;
    jobId = await submitLabelled(system, 'noisy', { type: 'service', task: { command: ['sh', '-c', script] } });
    following = startEscalon(['job', 'logs', jobId, '-f'], env);
    following.child.stdout?.on('data', (text: string) => (followed += text));
  });

  afterAll(async () => {
    following.child.kill();
    await following.ended;
  });

  it('its newest lines come while it runs, long after both limits are reached', async () => {
    await sees('\n60000\n');
    await go('one');
    await sees('\nnewest one\n');
    expect(followed.startsWith('1\n2\n3\n')).toBe(true);
    expect(await system.researcher().get(`/jobs/${jobId}`)).toMatchObject({ state: 'running' });
  });

  it('what is kept is its first part and the newest, and a line tells what is missing in between', async () => {
    const whole = `${numbers.join('\n')}\nnewest one\n`;
    const kept = await escalon('job', 'logs', jobId);
    const parts = kept.split(/\n?… [\d.]+ KiB left out here …\n/);
    const [first = 'nothing', newest = 'nothing'] = [parts[0], parts.at(-1)];
    expect(whole.startsWith(first)).toBe(true);
    expect(whole.endsWith(newest)).toBe(true);
    expect(newest.length).toBeGreaterThanOrEqual(10 * KIB);
    expect(kept.length).toBeLessThanOrEqual(256 * KIB + 100);

    expect(await escalon('job', 'logs', jobId, '--tail', '2')).toBe('60000\nnewest one\n');
    const lines = (await escalon('job', 'logs', jobId, '--output', 'json')).trimEnd().split('\n');
    const gaps = lines.map((line) => JSON.parse(line) as LogLine).filter(({ leftOut }) => leftOut !== undefined);
    expect(gaps.length).toBeGreaterThan(0);
    for (const gap of gaps) expect(gap).toMatchObject({ text: expect.stringMatching(LEFT_OUT), stream: 'stdout' });
    const left = gaps.reduce((sum, { leftOut = 0 }) => sum + leftOut, 0);
    const text = await system.researcher().get<string>(`/jobs/${jobId}/logs?stream=stdout`);
    const notes = [...text.matchAll(/(.?)\n?(… [\d.]+ KiB left out here …\n)/g)];
    expect(notes).toHaveLength(gaps.length);
    expect(left).toBeGreaterThanOrEqual(whole.length - 256 * KIB);
  });

  it('is followed over a control plane that goes away, no line twice, to the end of its job', async () => {
    await system.orchestrators[0]!.kill('SIGKILL');
    await go('two');
    await system.orchestrators[0]!.start();
    await sees('\nnewest two\n');
    await system.researcher().post(`/jobs/${jobId}/cancel`, { reason: 'seen enough' });
    const { code } = await following.ended;
    expect(code).toBe(0);
    const lines = followed.split('\n');
    expect(lines.filter((line) => line.startsWith('newest'))).toEqual(['newest one', 'newest two']);
    for (const once of ['1\n2\n3\n4\n', '59999\n60000\n']) expect(followed.split(once)).toHaveLength(2);
  });
});

describe('E-05 what the control plane takes of logs', () => {
  let log: string;
  let jobId: string;

  beforeAll(async () => {
    const node = await enrolLabelled(system, 'writer', 'writer');
    jobId = await submitLabelled(system, 'writer', {});
    log = `/executions/${(await node.assigned(jobId)).executionId}/logs?stream=stdout`;
  });

  const put = async (query: string, bytes: string) => {
    const { status, body } = await system.node('writer').request('PUT', `${log}&${query}`, bytes, {
      'content-type': 'application/octet-stream',
    });
    return { status, ...body };
  };

  it('a gap has to be told, and is the place that its bytes had', async () => {
    expect(await put('offset=0', 'one\n')).toEqual({ status: 200, nextOffset: 4 });
    expect(await put('offset=104', 'two\n')).toMatchObject({ status: 409, code: 'LOG_OFFSET_GAP', expected: 4 });
    expect(await put('offset=104&gap=99', 'two\n')).toMatchObject({ status: 409, expected: 4 });
    expect(await put('offset=104&gap=100', 'two\n')).toEqual({ status: 200, nextOffset: 108 });
    expect(await put('offset=104&gap=100', 'two\n')).toEqual({ status: 200, nextOffset: 108 });
    expect(await put('offset=0', 'one\n')).toEqual({ status: 200, nextOffset: 108 });
    expect(await system.researcher().get(`/jobs/${jobId}/logs`)).toBe('one\n… 100 B left out here …\ntwo\n');
    expect(await system.researcher().get(`/jobs/${jobId}/logs?tail=1`)).toBe('two\n');
  });

  it('every mistake of a chunk is named', async () => {
    expect(await put('offset=4&gap=5', '')).toMatchObject({ status: 422, errors: [{ pointer: '/gap' }] });
    const wrong = await put('offset=-4&gap=x&force=yes', '');
    expect(wrong.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
      '/force',
      '/gap',
      '/offset',
    ]);
  });

  it('a chunk that is too large is refused, with the size that is taken', async () => {
    const refused = await put('offset=108', 'x'.repeat(64 * KIB + 1));
    expect(refused).toMatchObject({ status: 413, code: 'LOG_CHUNK_TOO_LARGE', largest: 64 * KIB, retryable: false });
    expect(await put('offset=108', 'x'.repeat(64 * KIB))).toEqual({ status: 200, nextOffset: 108 + 64 * KIB });
  });

  it('a stream that breaks goes on behind Last-Event-ID, one that is none of its ids is refused', async () => {
    const follow = async (headers: Record<string, string>, enough: string): Promise<string> => {
      const stop = new AbortController();
      const response = await fetch(`${system.url}/v1/jobs/${jobId}/logs?follow=true`, {
        headers: { authorization: `Bearer ${await system.researcher().token}`, ...headers },
        signal: stop.signal,
      });
      let text = '';
      for await (const bytes of response.body ?? []) {
        text += new TextDecoder().decode(bytes as Uint8Array);
        if (text.includes(enough)) break;
      }
      stop.abort();
      return text;
    };
    const begun = await follow({}, 'two\\n');
    expect(begun).toContain('"offset":4,"next":104,"text":"","leftOut":100');
    const [id = ''] = /(?<=id: )[^\n]*(?=\nevent: log\ndata: \{[^\n]*"next":104,)/.exec(begun) ?? [];
    expect(id).toMatch(/:104:0$/);
    const resumed = await follow({ 'last-event-id': id }, 'two\\n');
    expect(resumed).not.toContain('one\\n');
    expect(resumed).not.toContain('leftOut');
    const path = `/jobs/${jobId}/logs?follow=true`;
    expect(await system.researcher().request('GET', path, undefined, { 'last-event-id': 'x' })).toMatchObject({
      status: 400,
      body: { code: 'POSITION_INVALID' },
    });
  });
});
