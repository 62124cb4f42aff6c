import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { nodeName, readCommandLine } from './command-line.js';
import { parseConfig } from './read-config.js';

const GIB = 2 ** 30;

describe('the configuration file', () => {
  it('overrides what would be found, in YAML', () => {
    const text = `
      cpu: 8
      memory: 16GiB
      gpus: [{ id: fake-0, model: A100, memory: 40GiB }]
      labels: { region: br }
      probes: { python: false, timeout: 2s, applications: [{ name: tool, command: [tool, -V], pattern: 'v(.+)' }] }
      policy: { maxDuration: 2h, deny: { projects: [p] } }
      grace: 500ms
      drain: 2m
      logLimit: 1MiB
      lanes: { cpu: { discipline: priority }, gpu: { discipline: fifo, workers: 2 } }
      largestUnpacked: 2GiB
      mostUnpacked: 5000
      limits: { enforce: watchdog, processes: 100 }`;
    expect(parseConfig(text, 'agent.yaml')).toEqual({
      inventory: {
        cpu: 8,
        memory: 16 * GIB,
        gpus: [{ id: 'fake-0', model: 'A100', memory: 40 * GIB }],
        labels: { region: 'br' },
      },
      probes: {
        python: false,
        timeout: 2000,
        applications: [{ name: 'tool', command: ['tool', '-V'], pattern: 'v(.+)' }],
      },
      policy: { maxDuration: 7200, deny: { projects: ['p'] } },
      grace: 500,
      drain: 120_000,
      logLimit: 2 ** 20,
      lanes: { cpu: { discipline: 'priority' }, gpu: { discipline: 'fifo', workers: 2 } },
      largestUnpacked: 2 * GIB,
      mostUnpacked: 5000,
      limits: { enforce: 'watchdog', processes: 100 },
    });
  });

  it('names every mistake of its form at once', () => {
    const wrong = () =>
      parseConfig('{ cpu: many, colour: red, probes: { applications: [{ name: a }] } }', 'agent.yaml');
    expect(wrong).toThrow(/agent\.yaml:/);
    expect(wrong).toThrow(/\/cpu must be number/);
    expect(wrong).toThrow(/additional properties: colour/);
    expect(wrong).toThrow(/applications\/0 must have required property 'command'/);
  });

  it('G-58 names every mistake in its lanes, with what there is to choose', () => {
    const lanes = '{ disk: {}, cpu: { discipline: lifo, workers: 0 }, io: { workers: 1.5 }, gpu: { limit: 1 } }';
    const wrong = () => parseConfig(`{ lanes: ${lanes} }`, 'agent.yaml');
    expect(wrong).toThrow(/\/lanes must NOT have additional properties: disk/);
    expect(wrong).toThrow(/\/lanes\/cpu\/discipline must be equal to one of .*: fifo, priority, backfill/);
    expect(wrong).toThrow(/\/lanes\/cpu\/workers must be >= 1/);
    expect(wrong).toThrow(/\/lanes\/io\/workers must be integer/);
    expect(wrong).toThrow(/\/lanes\/gpu must NOT have additional properties: limit/);
  });

  it('names every wrong quantity at once', () => {
    const wrong = () => parseConfig('{ memory: lots, grace: soon }', 'agent.yaml');
    expect(wrong).toThrow(/\/memory: "lots" is no size.*\n.*\/grace: "soon" is no duration/s);
  });

  it('refuses a log too small to be divided', () => {
    expect(() => parseConfig('{ logLimit: 1KiB }', 'agent.yaml')).toThrow(/\/logLimit: 1024 bytes, at least 65536/);
  });

  it('may be empty', () => expect(parseConfig('', 'agent.yaml')).toEqual({ inventory: {} }));
});

describe('the command line', () => {
  it('goes before the file, the file before the environment', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'escalon-config-'));
    const file = join(folder, 'agent.yaml');
    await writeFile(file, '{ url: "http://file", name: from-file, owner: from-file }');
    const env = { ESCALON_URL: 'http://environment', ESCALON_TOKEN: 'secret', ESCALON_DATA: folder };
    const line = await readCommandLine(['--config', file, '--name', 'from-flag', '--detach'], env);
    await rm(folder, { recursive: true });
    expect(line?.options).toEqual({
      inventory: {},
      url: 'http://file',
      name: 'from-flag',
      owner: 'from-file',
      data: join(folder, 'agent'),
      token: 'secret',
      detach: true,
    });
  });

  it('refuses wrong names and addresses together', async () => {
    const wrong = readCommandLine(['--name', 'Lab 1', '--url', 'ftp://x'], {});
    await expect(wrong).rejects.toThrow(/name Lab 1.*url ftp:\/\/x/s);
  });

  it('refuses a drain that is no time, or beside a detachment', async () => {
    const wrong = readCommandLine(['--drain', 'soon', '--detach'], {});
    await expect(wrong).rejects.toThrow(/drain: "soon" is no duration.*drain and detach: only one/s);
  });

  it('G-58 chooses lanes, each in place of the same of the file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'escalon-config-'));
    const file = join(folder, 'agent.yaml');
    await writeFile(file, '{ lanes: { cpu: { workers: 9 }, io: { discipline: priority } } }');
    const line = await readCommandLine(['--config', file, '--lane', 'gpu=fifo:2', '--lane', 'cpu=fifo'], {});
    await rm(folder, { recursive: true });
    expect(line?.options.lanes).toEqual({
      cpu: { workers: 9, discipline: 'fifo' },
      io: { discipline: 'priority' },
      gpu: { discipline: 'fifo', workers: 2 },
    });
  });

  it.each(['gpu', 'gpu=2', 'gpu=lifo', 'disk=fifo', 'gpu=fifo:0', 'gpu=fifo:2x', 'gpu=fifo:-1'])(
    'G-58 refuses the lane %s, beside other mistakes',
    async (lane) => {
      const wrong = readCommandLine(['--lane', lane, '--lane', 'io=fifo', '--lane', 'io=fifo', '--url', 'ftp://x'], {});
      await expect(wrong).rejects.toThrow(
        new RegExp(`lane ${lane}: it is one of cpu, io, gpu.*lane io=fifo: io was given already.*url ftp://x`, 's'),
      );
    },
  );

  it.each([
    ['Lab1.example.org', 'lab1'],
    ['my_host', 'my-host'],
    ['-', 'node'],
  ])('calls the host %s %s', (host, name) => expect(nodeName(host)).toBe(name));
});
