import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ConfigInvalid, heartbeatInterval, readConfig } from './config.js';

const GOOD = {
  ESDB_URL: 'esdb://127.0.0.1:2113?tls=false',
  DATABASE_URL: 'postgres://escalon@127.0.0.1/escalon',
  ESCALON_SECRET: 'a secret that is long enough to sign with',
};

const mistakesOf = (change: Record<string, string>): readonly string[] => {
  try {
    readConfig({ ...GOOD, ...change });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return error.mistakes;
  }
};

describe('the configuration', () => {
  it('has a default for everything but the stores and the secret', () => {
    expect(readConfig(GOOD)).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      roles: ['api', 'scheduler', 'projector'],
      offlineAfter: 15,
      lostAfter: 60,
      runGrace: 30,
      retries: true,
      aging: 1_800,
      sweepInterval: 300,
      schedulerLock: true,
      snapshotEvery: 50_000,
      logs: { stream: 64 * 2 ** 20, chunk: 2 ** 20 },
    });
  });

  it('names every mistake at once', () => {
    const mistakes = mistakesOf({
      ESDB_URL: 'http://127.0.0.1:2113',
      DATABASE_URL: '',
      PORT: '99999',
      ESCALON_SECRET: 'short',
      ESCALON_ROLES: 'api,cook',
      LOG_LEVEL: 'loud',
      ESCALON_LOST_AFTER: 'soon',
      ESCALON_AGING: '-1',
      ESCALON_SWEEP_INTERVAL: '0',
      ESCALON_WORKERS: '0',
    });
    const names = [
      'ESDB_URL',
      'DATABASE_URL',
      'PORT',
      'ESCALON_SECRET',
      'ESCALON_ROLES',
      'LOG_LEVEL',
      'ESCALON_LOST_AFTER',
      'ESCALON_AGING',
      'ESCALON_SWEEP_INTERVAL',
      'ESCALON_WORKERS',
    ];
    for (const name of names) expect(mistakes.some((mistake) => mistake.includes(name))).toBe(true);
    expect(mistakes).toHaveLength(names.length);
  });

  it('takes sizes of logs as people write them, the whole at least four chunks', () => {
    const sizes = { ESCALON_LOG_LIMIT: '512KiB', ESCALON_LOG_CHUNK_LIMIT: '128KiB' };
    expect(readConfig({ ...GOOD, ...sizes }).logs).toEqual({ stream: 2 ** 19, chunk: 2 ** 17 });
    expect(mistakesOf({ ESCALON_LOG_LIMIT: '3MiB' })).toEqual([
      'ESCALON_LOG_LIMIT must be at least four times ESCALON_LOG_CHUNK_LIMIT, 4 MiB',
    ]);
    expect(mistakesOf({ ESCALON_LOG_LIMIT: '1KiB', ESCALON_LOG_CHUNK_LIMIT: '4 bananas' })).toEqual([
      'ESCALON_LOG_CHUNK_LIMIT must be a size of at least 64 KiB, not "4 bananas"',
      'ESCALON_LOG_LIMIT must be a size of at least 256 KiB, not "1KiB"',
    ]);
  });

  it.each(['0', '65535'])('takes port %s', (port) => {
    expect(readConfig({ ...GOOD, PORT: port }).port).toBe(Number(port));
  });

  it('refuses a port that is no whole number', () => {
    expect(mistakesOf({ PORT: '80.5' })).toEqual([expect.stringContaining('whole number')]);
  });

  it.each([
    [15, 5],
    [600, 5],
    [6, 2],
    [0.3, 0.1],
  ])('offline after %d s of silence: a heartbeat every %d s', (offlineAfter, interval) => {
    expect(heartbeatInterval({ offlineAfter })).toBeCloseTo(interval, 9);
  });

  it('says when the file of the secret is not there', () => {
    expect(mistakesOf({ ESCALON_SECRET_FILE: '/nowhere/secret' })).toEqual([
      expect.stringContaining('/nowhere/secret'),
    ]);
  });

  /** Every row of the page: variable and default. */
  const page = readFileSync('docs/reference/configuration.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)`[ ¹]*\| (.*?) +\|/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);

  it('is all on its page, with its defaults', () => {
    const source = readFileSync('apps/orchestrator/config/config.ts', 'utf8');
    const read = new Set(
      [...source.matchAll(/'([A-Z_]+)'|env\.([A-Z_]+)/g)].map(([, first, second]) => first ?? second),
    );
    expect(rows.map(([name]) => name).toSorted()).toEqual([...read].toSorted());
    const said = rows.filter(([, value]) => value !== '' && !value!.includes(' '));
    expect(readConfig({ ...GOOD, ...Object.fromEntries(said) })).toEqual(readConfig(GOOD));
    expect(said.length).toBeGreaterThan(10);
  });
});
