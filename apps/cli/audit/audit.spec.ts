import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobStateName } from '#jobs';
import { stubServer } from '../testing/stub-server.js';
import { runCli } from '../testing/terminal.js';
import { readExport, writeExport } from './export.js';
import { replay, replayTo } from './replay.js';
import type { RawEvent } from '#contracts';
import type { JobEvent, JobSpec } from '#jobs';

const spec = {
  name: 'a',
  project: 'demo',
  type: 'batch',
  count: 1,
  priority: 50,
  dependsOn: [],
  retry: { attempts: 3, backoff: 'constant', interval: 1, maxInterval: 1, on: [] },
  timeouts: { confirm: 15 },
} as unknown as JobSpec;

const at = (second: number): string => `2026-11-29T20:00:0${second}.000Z`;

const history: readonly JobEvent[] = [
  {
    type: 'JobSubmitted',
    data: { jobId: 'j1', spec, account: 'ana', institution: 'usp', evaluationId: 'e1', fingerprint: 'f', at: at(0) },
  },
  { type: 'JobPriorityChanged', data: { priority: 80, at: at(1) } },
  { type: 'JobPaused', data: { reason: 'hold', at: at(2) } },
  { type: 'JobResumed', data: { at: at(3) } },
  { type: 'JobCancelRequested', data: { reason: 'wrong input', byUser: true, at: at(4) } },
  { type: 'JobCancelled', data: { reason: 'wrong input', at: at(4) } },
];

const recorded: readonly RawEvent[] = history.map((event, index) => ({
  ...event,
  id: `id-${index}`,
  stream: 'job-j1',
  revision: String(index),
  position: String(9007199254740993n + BigInt(index)),
  recordedAt: (event.data as { at: string }).at,
  metadata: { schemaVersion: 1, actor: 'ana' },
}));

const exported = (): string => {
  let text = '';
  writeExport(recorded, { isTerminal: false, write: (more) => void (text += more) });
  return text;
};

describe('replay', () => {
  it('A-92 gives the state that was true after each event', () => {
    const states = [...replay(recorded)].map(
      ({ revision, state }) => `${revision} ${jobStateName(state)} ${state.priority}`,
    );
    expect(states).toEqual([
      '0 queued 50',
      '1 queued 80',
      '2 paused 80',
      '3 queued 80',
      '4 queued 80',
      '5 cancelled 80',
    ]);
  });

  it.each([
    ['2', '2'],
    ['2026-11-29T20:00:02Z', '2'],
    ['2026-11-29T20:00:02.999Z', '2'],
    ['2026-11-29T22:00:04+02:00', '5'],
    [undefined, '5'],
  ])('--at %s is revision %s', (moment, revision) => {
    expect(replayTo(recorded, moment).revision).toBe(revision);
  });

  it.each([
    ['2026-11-29T19:59:59Z', 'did not exist yet'],
    ['9', 'has no revision 9; its last is 5'],
    ['yesterday', 'neither a revision nor a time'],
  ])('--at %s is refused', (moment, message) => {
    expect(() => replayTo(recorded, moment)).toThrow(message);
  });
});

describe('an export', () => {
  it('is NDJSON, oldest first, with a digest at its end, and reads back as it was', () => {
    const lines = exported().trimEnd().split('\n');
    expect(lines).toHaveLength(recorded.length + 1);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ stream: 'job-j1', events: 6 });
    expect(readExport(exported())).toEqual(recorded);
  });

  it('is refused when a line was changed, dropped or cut off', () => {
    expect(() => readExport(exported().replace('wrong input', 'right input'))).toThrow('was changed');
    expect(() => readExport(exported().split('\n').slice(1).join('\n'))).toThrow('was changed');
    expect(() => readExport(exported().split('\n').slice(0, -2).join('\n'))).toThrow('not complete');
  });
});

describe('the audit verbs', () => {
  it('replay from the server and from an exported file come to the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'escalon-audit-'));
    const server = await stubServer({ 'GET /jobs/j1/events': { items: recorded } });
    const env = { ESCALON_URL: server.url };
    try {
      const written = await runCli(['audit', 'export', 'j1'], { env });
      writeFileSync(join(folder, 'j1.ndjson'), written.out);
      const live = await runCli(['audit', 'replay', 'j1', '--at', '2', '--output', 'json'], { env });
      const file = await runCli([
        'audit',
        'replay',
        '--file',
        join(folder, 'j1.ndjson'),
        '--at',
        '2',
        '--output',
        'json',
      ]);
      expect(JSON.parse(live.out)).toMatchObject({
        revision: '2',
        event: 'JobPaused',
        state: { priority: 80, paused: true },
      });
      expect(file).toEqual(live);
    } finally {
      await server.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('replay wants a job or a file', async () => {
    expect(await runCli(['audit', 'replay'])).toMatchObject({ code: 2, out: '' });
  });
});
