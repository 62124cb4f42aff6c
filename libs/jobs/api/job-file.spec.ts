import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { JobSpec } from '#jobs';
import { nestedField, rulesOf } from '#platform/validation';
import type { InputClass } from '#platform/validation';
import { parse } from 'yaml';
import { JobSpecDto } from './dto/job-spec.dto.js';
import { parseJobSpec } from './job-file.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

const minimal = { name: 'primes', project: 'demo', task: { command: ['node', 'primes.mjs'] } };

const spec = (input: unknown): JobSpec => {
  const parsed = parseJobSpec(input);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors, null, 1));
  return parsed.spec;
};

const warnings = (input: unknown): readonly string[] => {
  const parsed = parseJobSpec(input);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors, null, 1));
  return parsed.warnings;
};

/** Every mistake as `pointer CODE`. */
const mistakes = (input: unknown): readonly string[] => {
  const parsed = parseJobSpec(input);
  return parsed.ok ? [] : parsed.errors.map(({ pointer, code }) => `${pointer} ${code}`);
};

const message = (input: unknown): string => {
  const parsed = parseJobSpec(input);
  return parsed.ok ? '' : parsed.errors.map((error) => error.message).join('\n');
};

const withTask = (fields: object): object => ({ ...minimal, ...fields });

/** The job file of the reference, with the input uploaded. */
const full = {
  name: 'primes',
  project: 'demo',
  type: 'batch',
  count: 1,
  priority: 50,
  application: { name: 'node', version: '>=20' },
  packages: [{ name: 'numpy', version: '>=1.26' }],
  architecture: ['x86_64', 'arm64'],
  constraints: ['region in (br, eu)', '!spot'],
  preferences: [{ constraint: 'rack = a1', weight: 50 }],
  resources: {
    cpu: 2,
    memory: '4GiB',
    disk: '10GiB',
    ioSlots: 1,
    gpu: { count: 1, share: 1, memory: '16GiB', models: ['A100', 'V100'] },
  },
  estimate: { duration: '30m' },
  batch: { size: 512, min: 64, memoryPerItem: '4MiB', gpuMemoryPerItem: '8MiB' },
  task: { command: ['node', 'primes.mjs', '100000'], env: { MODE: 'fast' } },
  inputs: [{ source: `sha256:${'a'.repeat(64)}`, path: './numbers.csv', size: 1e6 }],
  outputs: ['result.json', './plots/**'],
  profile: 'balanced',
  budget: { maxCost: 5 },
  dependsOn: [{ job: '018f-1', when: 'completed' }],
  retry: {
    attempts: 3,
    backoff: 'exponential',
    interval: '10s',
    maxInterval: '60s',
    on: ['node-lost', 'infrastructure'],
    memory: { factor: 1.5, max: '8GiB' },
  },
  timeouts: { confirm: '15s', queue: '1d', run: '2h', total: '2d' },
  labels: { study: 'coral-2026' },
};

const fullSpec: JobSpec = {
  ...full,
  type: 'batch',
  architecture: ['x64', 'arm64'],
  resources: {
    cpu: 2,
    memory: 4 * GIB,
    disk: 10 * GIB,
    ioSlots: 1,
    gpu: { count: 1, share: 1, memory: 16 * GIB, models: ['A100', 'V100'] },
  },
  estimate: { duration: 1800 },
  batch: { size: 512, min: 64, memoryPerItem: 4 * MIB, gpuMemoryPerItem: 8 * MIB },
  inputs: [{ source: `sha256:${'a'.repeat(64)}`, path: 'numbers.csv', size: 1e6 }],
  outputs: ['result.json', 'plots/**'],
  dependsOn: [{ job: '018f-1', when: 'completed' }],
  retry: {
    attempts: 3,
    backoff: 'exponential',
    interval: 10,
    maxInterval: 60,
    on: ['node-lost', 'infrastructure'],
    memory: { factor: 1.5, max: 8 * GIB },
  },
  timeouts: { confirm: 15, queue: 86400, run: 7200, total: 172800 },
};

describe('a job file that is right', () => {
  it('A-01 A-02 A-03 A-04 A-05 A-06 A-07 A-08 states everything, in bytes and seconds', () => {
    expect(spec(full)).toEqual(fullSpec);
    expect(warnings(full)).toEqual([]);
  });

  it('gets every default', () => {
    expect(spec(minimal)).toEqual({
      name: 'primes',
      project: 'demo',
      type: 'batch',
      count: 1,
      priority: 50,
      packages: [],
      architecture: [],
      constraints: [],
      preferences: [],
      resources: { cpu: 0.5, memory: 512 * MIB, disk: 0, ioSlots: 0 },
      estimate: {},
      task: { command: ['node', 'primes.mjs'], env: {} },
      inputs: [],
      outputs: [],
      dependsOn: [],
      retry: {
        attempts: 3,
        backoff: 'exponential',
        interval: 10,
        maxInterval: 60,
        on: ['node-lost', 'infrastructure'],
      },
      timeouts: { confirm: 15 },
      labels: {},
    });
  });

  it('A-03 folds the names of architectures, each once', () => {
    expect(spec(withTask({ architecture: ['amd64', 'X86_64', 'aarch64', 'riscv64'] })).architecture).toEqual([
      'x64',
      'arm64',
      'riscv64',
    ]);
  });

  it('A-06 a gpu is one whole device of any model unless it says otherwise', () => {
    expect(spec(withTask({ resources: { gpu: {} } })).resources.gpu).toEqual({ count: 1, share: 1, models: [] });
    expect(spec(withTask({ resources: { gpu: { share: 0.25 } } })).resources.gpu?.share).toBe(0.25);
    expect(spec(withTask({ resources: { gpu: { count: 8 } } })).resources.gpu?.count).toBe(8);
  });

  it('A-07 takes data from the artifact store, the web and other jobs', () => {
    const sources = [`sha256:${'0'.repeat(64)}`, 'https://example.org/a.csv', 'job:018f-77/plots/a.png'];
    const inputs = sources.map((source, index) => ({ source, path: `in/${index}` }));
    expect(spec(withTask({ inputs })).inputs).toEqual(inputs);
  });

  it('takes sizes and durations as text or number', () => {
    const asked = spec(withTask({ resources: { memory: 1e9, disk: '1.5GB' }, estimate: { duration: 90 } }));
    expect(asked.resources).toMatchObject({ memory: 1e9, disk: 1.5e9 });
    expect(asked.estimate.duration).toBe(90);
  });

  it('accepts no fewer batch items than it asks for unless it says so', () => {
    expect(spec(withTask({ batch: { size: 64 } })).batch).toEqual({
      size: 64,
      min: 64,
      memoryPerItem: 0,
      gpuMemoryPerItem: 0,
    });
  });

  it('G-57 items are done in batches of at most what a partition has of them', () => {
    const batch = (fields: object, count = 1) =>
      spec(withTask({ count, batch: { size: 64, min: 8, ...fields } })).batch;
    expect(batch({ items: 1000 })).toMatchObject({ size: 64, min: 8, items: 1000 });
    expect(batch({ items: 20 })).toMatchObject({ size: 20, min: 8, items: 20 });
    expect(batch({ items: 20 }, 3)).toMatchObject({ size: 7, min: 7, items: 20 });
    expect(batch({})).not.toHaveProperty('items');
  });

  it('S-03 S-05 what runs on and on is tried again after everything that another try may mend, for long', () => {
    for (const type of ['service', 'daemon'] as const) {
      const { retry } = spec(withTask({ type }));
      expect(retry).toMatchObject({ attempts: 100, backoff: 'exponential', interval: 10, maxInterval: 300 });
      expect(retry.on).toEqual(expect.arrayContaining(['application', 'resource', 'timeout', 'node-lost']));
      expect(retry.on).not.toEqual(expect.arrayContaining(['input']));
      expect(retry.on).not.toEqual(expect.arrayContaining(['policy']));
    }
    const given = { attempts: 4, interval: 1, on: ['application' as const] };
    expect(spec(withTask({ type: 'service', retry: given })).retry).toMatchObject({ ...given, maxInterval: 300 });
    expect(spec(withTask({ type: 'ops' })).retry).toEqual(spec(withTask({})).retry);
  });

  it('R-02 a long base raises the longest interval with it', () => {
    expect(spec(withTask({ retry: { interval: '5m' } })).retry).toMatchObject({ interval: 300, maxInterval: 300 });
    expect(spec(withTask({ retry: { backoff: 'constant', interval: 5 } })).retry.maxInterval).toBe(5);
  });
});

describe('a task in a container', () => {
  it('names its image, and runs that one’s own program unless it names another', () => {
    expect(spec({ ...minimal, task: { image: 'quay.io/lab/tool:1.2' } }).task).toStrictEqual({
      command: [],
      env: {},
      image: 'quay.io/lab/tool:1.2',
    });
    const both = { command: ['tool', '-x'], env: { A: 'b' }, image: `ghcr.io/lab/tool@sha256:${'0'.repeat(64)}` };
    expect(spec({ ...minimal, task: both }).task).toStrictEqual(both);
    expect(spec(minimal).task).not.toHaveProperty('image');
  });

  it('tells what is wrong with an image', () =>
    expect(message({ ...minimal, task: { image: 'busybox' } })).toMatch(
      /names neither a tag nor a digest, as name:1.2/,
    ));
});

describe('E-01 warnings name each field that is ignored', () => {
  it.each([
    [{ type: 'ops', count: 3 }, /^\/count is ignored/],
    [{ type: 'daemon', count: 3 }, /^\/count is ignored/],
    [{ type: 'daemon', retry: { attempts: 5 } }, /^\/retry\/attempts is ignored/],
    [{ type: 'daemon', retry: { on: ['timeout'] } }, /^\/retry\/on is ignored/],
    [{ type: 'daemon', timeouts: { queue: '1h' } }, /^\/timeouts\/queue is ignored/],
    [{ profile: 'gpu', weights: { queue: 1 } }, /^\/profile is ignored/],
    [{ retry: { backoff: 'constant', interval: 5, maxInterval: 60 } }, /^\/retry\/maxInterval is ignored/],
    [{ retry: { attempts: 1, memory: { factor: 2, max: '8GiB' } } }, /^\/retry\/memory is ignored: attempts is 1/],
    [{ retry: { memory: { factor: 2, max: '512MiB' } } }, /^\/retry\/memory is ignored: its max/],
    [{ retry: { on: ['cancelled', 'timeout'] } }, /^\/retry\/on: cancelled is ignored/],
    [{ batch: { size: 8, items: 5 } }, /^\/batch\/size is taken as 5: a partition has no more items/],
    [{ batch: { size: 8, gpuMemoryPerItem: '1MiB' } }, /^\/batch\/gpuMemoryPerItem is ignored/],
    [{ estimate: { duration: '2h' }, timeouts: { run: '1h' } }, /^\/estimate\/duration is over/],
  ])('%j', (fields, warning) => {
    expect(warnings(withTask(fields))).toEqual([expect.stringMatching(warning)]);
  });

  it('and what is ignored is not in the job, so that it warns once', () => {
    const given = { type: 'ops', count: 3, profile: 'gpu', weights: { queue: 1 }, retry: { on: ['cancelled'] } };
    const accepted = spec(withTask(given));
    expect(accepted).toMatchObject({ count: 1, retry: { on: [] } });
    expect(accepted).not.toHaveProperty('profile');
    expect(warnings(accepted)).toEqual([]);
  });
});

describe('a job file that is wrong', () => {
  it('E-01 a job file with three mistakes and an unknown field: one answer naming all four with their paths', () => {
    const wrong = withTask({
      count: 0,
      resources: { cpu: 2, memry: '4GiB', gpu: { share: 2 } },
      timeouts: { run: '-1s' },
    });
    expect(mistakes(wrong).toSorted()).toEqual([
      '/count OUT_OF_RANGE',
      '/resources/gpu/share OUT_OF_RANGE',
      '/resources/memry UNKNOWN_FIELD',
      '/timeouts/run OUT_OF_RANGE',
    ]);
    expect(message(wrong)).toContain('did you mean memory?');
  });

  it.each([
    ['nothing', null, [' WRONG_TYPE']],
    ['a text', 'name: primes', [' WRONG_TYPE']],
    ['a list', [minimal], [' WRONG_TYPE']],
    ['an empty file', {}, ['/name REQUIRED', '/project REQUIRED', '/task REQUIRED']],
    ['no command', { ...minimal, task: {} }, ['/task/command REQUIRED']],
    ['no command', { ...minimal, task: { env: {} } }, ['/task/command REQUIRED']],
    ['an image without a tag', { ...minimal, task: { image: 'busybox' } }, ['/task/image MALFORMED']],
    ['an image that is an option', { ...minimal, task: { image: '--privileged' } }, ['/task/image MALFORMED']],
    [
      'an image that is no text',
      { ...minimal, task: { image: 5, command: [''] } },
      ['/task/command/0 OUT_OF_RANGE', '/task/image WRONG_TYPE'],
    ],
    ['an empty command', { ...minimal, task: { command: [] } }, ['/task/command OUT_OF_RANGE']],
    ['an empty program', { ...minimal, task: { command: ['', 'x'] } }, ['/task/command/0 OUT_OF_RANGE']],
    ['a command as one text', { ...minimal, task: { command: 'node x' } }, ['/task/command WRONG_TYPE']],
    ['a number among the arguments', { ...minimal, task: { command: ['a', 5] } }, ['/task/command/1 WRONG_TYPE']],
  ])('%s', (_name, input, expected) => {
    expect(mistakes(input)).toEqual(expected);
  });

  it.each([
    [{ name: '' }, '/name OUT_OF_RANGE'],
    [{ name: 'two\nlines' }, '/name MALFORMED'],
    [{ name: 7 }, '/name WRONG_TYPE'],
    [{ project: 'a b' }, '/project MALFORMED'],
    [{ type: 'bach' }, '/type NOT_ALLOWED'],
    [{ count: 10_001 }, '/count OUT_OF_RANGE'],
    [{ count: 1.5 }, '/count WRONG_TYPE'],
    [{ count: '3' }, '/count WRONG_TYPE'],
    [{ count: null }, '/count WRONG_TYPE'],
    [{ priority: -1 }, '/priority OUT_OF_RANGE'],
    [{ priority: 101 }, '/priority OUT_OF_RANGE'],
    [{ application: 'node' }, '/application WRONG_TYPE'],
    [{ application: [{ name: 'node' }] }, '/application WRONG_TYPE'],
    [{ application: { version: '>=20' } }, '/application/name REQUIRED'],
    [{ application: { name: 'node', version: '(newest)' } }, '/application/version MALFORMED'],
    [{ packages: { name: 'numpy' } }, '/packages WRONG_TYPE'],
    [{ packages: [{ name: 'numpy' }, 'scipy'] }, '/packages/1 WRONG_TYPE'],
    [{ packages: [{ name: 'numpy', verson: '1' }] }, '/packages/0/verson UNKNOWN_FIELD'],
    [{ architecture: 'x64' }, '/architecture WRONG_TYPE'],
    [{ constraints: ['region in (br', '!spot'] }, '/constraints/0 MALFORMED'],
    [{ preferences: [{ constraint: 'a = b', weight: 0 }] }, '/preferences/0/weight OUT_OF_RANGE'],
    [{ resources: { cpu: 0 } }, '/resources/cpu OUT_OF_RANGE'],
    [{ resources: { cpu: 0.0005 } }, '/resources/cpu OUT_OF_RANGE'],
    [{ resources: { cpu: 1.0005 } }, '/resources/cpu OUT_OF_RANGE'],
    [{ resources: { cpu: Number.NaN } }, '/resources/cpu WRONG_TYPE'],
    [{ resources: { memory: '4G' } }, '/resources/memory MALFORMED'],
    [{ resources: { memory: 0 } }, '/resources/memory OUT_OF_RANGE'],
    [{ resources: { disk: '-1GiB' } }, '/resources/disk OUT_OF_RANGE'],
    [{ resources: { gpu: { count: 2, share: 0.5 } } }, '/resources/gpu/share CONFLICT'],
    [{ resources: { gpu: { share: 0 } } }, '/resources/gpu/share OUT_OF_RANGE'],
    [{ estimate: { duration: 'soon' } }, '/estimate/duration MALFORMED'],
    [{ estimate: 30 }, '/estimate WRONG_TYPE'],
    [{ batch: { size: 8, min: 9 } }, '/batch/min CONFLICT'],
    [{ batch: { size: 8, items: 0 } }, '/batch/items OUT_OF_RANGE'],
    [{ batch: { size: 8, items: 1.5 } }, '/batch/items WRONG_TYPE'],
    [{ batch: { size: 8, items: 'all' } }, '/batch/items WRONG_TYPE'],
    [{ batch: { size: 8, min: 4, items: 3 } }, '/batch/min CONFLICT'],
    [{ count: 9, batch: { size: 8, items: 8 } }, '/batch/items CONFLICT'],
    [{ type: 'service', batch: { size: 8, items: 8 } }, '/batch/items NOT_ALLOWED'],
    [{ retry: { memory: { factor: 1, max: '8GiB' } } }, '/retry/memory/factor OUT_OF_RANGE'],
    [{ retry: { memory: { factor: 101, max: '8GiB' } } }, '/retry/memory/factor OUT_OF_RANGE'],
    [{ retry: { memory: { factor: 2 } } }, '/retry/memory/max REQUIRED'],
    [{ retry: { memory: { factor: 2, max: '511MiB' } } }, '/retry/memory/max CONFLICT'],
    [{ resources: { memory: '9GiB' }, retry: { memory: { factor: 2, max: '8GiB' } } }, '/retry/memory/max CONFLICT'],
    [{ retry: { memory: 2 } }, '/retry/memory WRONG_TYPE'],
    [{ profile: 'fast' }, '/profile NOT_ALLOWED'],
    [{ weights: { resources: 101 } }, '/weights/resources OUT_OF_RANGE'],
    [{ weights: { cost: 0 } }, '/weights CONFLICT'],
    [{ weights: { luck: 10, cost: 1 } }, '/weights/luck UNKNOWN_FIELD'],
    [{ budget: { maxCost: -1 } }, '/budget/maxCost OUT_OF_RANGE'],
    [{ dependsOn: [{ job: 'a', when: 'done' }] }, '/dependsOn/0/when NOT_ALLOWED'],
    [{ dependsOn: ['a'] }, '/dependsOn/0 WRONG_TYPE'],
    [{ labels: { study: 5 } }, '/labels/study WRONG_TYPE'],
    [{ labels: { 'two words': 'x' } }, '/labels/two words MALFORMED'],
    [{ labels: { 'escalon.io/a~b': 'x' } }, '/labels/escalon.io~1a~0b MALFORMED'],
    [{ labels: { 'escalon/node': 'x' } }, '/labels/escalon~1node RESERVED'],
    [{ task: { command: ['x'], env: { ESCALON_PARTITION: '1' } } }, '/task/env/ESCALON_PARTITION RESERVED'],
    [{ task: { command: ['x'], env: { '1A': 'x' } } }, '/task/env/1A MALFORMED'],
    [{ task: { command: ['x'], env: { MODE: 1 } } }, '/task/env/MODE WRONG_TYPE'],
    [{ task: { command: ['x\u0000y'] } }, '/task/command/0 MALFORMED'],
    [{ name: 'broken \ud800' }, '/name MALFORMED'],
    [{ memory: '4GiB' }, '/memory UNKNOWN_FIELD'],
  ])('%j', (fields, expected) => {
    expect(mistakes(withTask(fields))).toEqual([expected]);
  });

  it.each([
    [{ attempts: 0 }, '/retry/attempts OUT_OF_RANGE'],
    [{ attempts: 101 }, '/retry/attempts OUT_OF_RANGE'],
    [{ backoff: 'linear' }, '/retry/backoff NOT_ALLOWED'],
    [{ interval: '-10s' }, '/retry/interval OUT_OF_RANGE'],
    [{ interval: '2m', maxInterval: '1m' }, '/retry/maxInterval CONFLICT'],
    [{ on: ['node-lots'] }, '/retry/on/0 NOT_ALLOWED'],
  ])('R-02 retry %j', (retry, expected) => {
    expect(mistakes(withTask({ retry }))).toEqual([expected]);
  });

  it.each([
    [{ queue: '-1s' }, '/timeouts/queue OUT_OF_RANGE'],
    [{ run: -1 }, '/timeouts/run OUT_OF_RANGE'],
    [{ total: 0 }, '/timeouts/total OUT_OF_RANGE'],
    [{ confirm: 0 }, '/timeouts/confirm OUT_OF_RANGE'],
    [{ queue: '1h', run: '1h', total: '119m' }, '/timeouts/total CONFLICT'],
    [{ run: '3h', total: '2h' }, '/timeouts/total CONFLICT'],
  ])('S-10 timeouts %j', (timeouts, expected) => {
    expect(mistakes(withTask({ timeouts }))).toEqual([expected]);
  });

  it('S-10 names every mistake of the timeouts at once', () => {
    expect([...mistakes(withTask({ timeouts: { queue: '-1s', run: '3h', total: '2h', confirm: 0 } }))].sort()).toEqual([
      '/timeouts/confirm OUT_OF_RANGE',
      '/timeouts/queue OUT_OF_RANGE',
      '/timeouts/total CONFLICT',
    ]);
  });

  it('S-10 queue and run may fill the total', () => {
    expect(mistakes(withTask({ timeouts: { queue: '1h', run: '1h', total: '2h' } }))).toEqual([]);
  });

  it.each([
    ['./numbers.csv', 'LOCAL_FILE'],
    ['/data/numbers.csv', 'LOCAL_FILE'],
    ['ftp://example.org/a', 'NOT_ALLOWED'],
    ['file:///etc/passwd', 'NOT_ALLOWED'],
    ['https://', 'MALFORMED'],
    ['https://user:secret@example.org/a', 'NOT_ALLOWED'],
    ['sha256:abc', 'MALFORMED'],
    [`sha256:${'A'.repeat(64)}`, 'MALFORMED'],
    ['job:018f-77', 'MALFORMED'],
    ['job:018f-77/../secret', 'MALFORMED'],
  ])('A-07 the source %s', (source, code) => {
    expect(mistakes(withTask({ inputs: [{ source, path: 'in' }] }))).toEqual([`/inputs/0/source ${code}`]);
  });

  const zeros = '0'.repeat(64);

  it.each([
    [{ source: 'https://example.org/a', sha256: zeros.slice(1) }, ['/inputs/0/sha256 MALFORMED']],
    [{ source: 'https://example.org/a', sha256: 'A'.repeat(64) }, ['/inputs/0/sha256 MALFORMED']],
    [{ source: 'http://example.org/a' }, ['/inputs/0/sha256 REQUIRED']],
    [{ source: `sha256:${'1'.repeat(64)}`, sha256: zeros }, ['/inputs/0/sha256 CONFLICT']],
    [{ source: 'http://example.org/a', sha256: zeros }, []],
    [{ source: 'https://example.org/a', sha256: zeros }, []],
    [{ source: 'job:018f-77/a', sha256: zeros }, []],
    [{ source: `sha256:${zeros}`, sha256: zeros }, []],
  ])('A-07 the digest of %j', (input, expected) => {
    expect(mistakes(withTask({ inputs: [{ ...input, path: 'in' }] }))).toEqual(expected);
  });

  it('A-07 keeps the digest of an address, and not that of a digest', () => {
    const inputs = [
      { source: 'https://example.org/a', path: 'a', sha256: zeros },
      { source: `sha256:${zeros}`, path: 'b', sha256: zeros },
    ];
    expect(spec(withTask({ inputs })).inputs).toEqual([inputs[0], { source: `sha256:${zeros}`, path: 'b' }]);
  });

  it('A-07 warns of an address whose content may change', () => {
    const inputs = [
      { source: 'https://example.org/a', path: 'a', sha256: zeros },
      { source: 'https://example.org/b', path: 'b' },
      { source: 'job:018f-77/c', path: 'c' },
    ];
    expect(warnings(withTask({ inputs }))).toEqual([expect.stringMatching(/^\/inputs\/1: .*may change/)]);
  });

  it('A-07 says that the command line uploads files', () => {
    expect(message(withTask({ inputs: [{ source: 'a.csv', path: 'in' }] }))).toContain('command line');
  });

  it.each(['/etc/passwd', '../up', 'a/../../b', 'a//b', 'a/./b', 'C:\\x', '~/x', 'a\\b', 'a/', '.', './'])(
    'A-07 the path %s leaves the folder or is no path',
    (path) => {
      const inputs = [{ source: `sha256:${'0'.repeat(64)}`, path }];
      expect(mistakes(withTask({ inputs, outputs: [path] }))).toEqual([
        '/inputs/0/path MALFORMED',
        '/outputs/0 MALFORMED',
      ]);
    },
  );

  it('A-07 an input that is unpacked says so, and only that is kept', () => {
    const inputs = ['./data', 'b', 'c'].map((path, index) => ({
      source: `sha256:${zeros}`,
      path,
      ...(index < 2 && { unpack: index === 0 }),
    }));
    expect(spec(withTask({ inputs })).inputs).toEqual([
      { source: `sha256:${zeros}`, path: 'data', unpack: true },
      { source: `sha256:${zeros}`, path: 'b' },
      { source: `sha256:${zeros}`, path: 'c' },
    ]);
    const wrong = [{ source: `sha256:${zeros}`, path: 'data', unpack: 'tar' }];
    expect(mistakes(withTask({ inputs: wrong }))).toEqual(['/inputs/0/unpack WRONG_TYPE']);
  });

  it('A-07 two inputs cannot be written to one place', () => {
    const source = `sha256:${'0'.repeat(64)}`;
    const inputs = [
      { source, path: 'a' },
      { source, path: './a' },
    ];
    expect(mistakes(withTask({ inputs }))).toEqual(['/inputs/1/path DUPLICATE']);
  });

  it('A-07 no input lies below another that is a file, in whatever order they come', () => {
    const source = `sha256:${'0'.repeat(64)}`;
    const [file, inner] = [
      { source, path: './a' },
      { source, path: 'a/b/c' },
    ];
    expect(mistakes(withTask({ inputs: [file, inner] }))).toEqual(['/inputs/1/path CONFLICT']);
    expect(mistakes(withTask({ inputs: [inner, file] }))).toEqual(['/inputs/0/path CONFLICT']);
    expect(mistakes(withTask({ inputs: [{ ...file, unpack: true }, inner] }))).toEqual([]);
    expect(mistakes(withTask({ inputs: [file, { source, path: 'ab' }] }))).toEqual([]);
  });

  it('names of the language are unknown fields like any other, and change no prototype', () => {
    const text = `{ "name": "x", "project": "p", "task": { "command": ["a"], "env": { "__proto__": "y" } },
      "__proto__": { "priority": 99 }, "constructor": 1, "resources": { "__proto__": { "cpu": 64 } } }`;
    expect(mistakes(JSON.parse(text)).toSorted()).toEqual([
      '/__proto__ UNKNOWN_FIELD',
      '/constructor UNKNOWN_FIELD',
      '/resources/__proto__ UNKNOWN_FIELD',
      '/task/env/__proto__ RESERVED',
    ]);
    expect({}).not.toHaveProperty('cpu');
  });

  it('a file over 256 KiB is refused as a whole', () => {
    const task = { command: ['x'], env: { A: 'a'.repeat(60_000), B: 'b'.repeat(60_000) } };
    expect(mistakes({ ...minimal, task })).toEqual([]);
    const five = Object.fromEntries('ABCDE'.split('').map((name) => [name, 'x'.repeat(60_000)]));
    expect(mistakes({ ...minimal, task: { command: ['x'], env: five } })).toEqual([' TOO_LARGE']);
  });

  it('references that multiply or turn in a circle are refused without walking them all', () => {
    let bomb: unknown = 'lol';
    for (let level = 0; level < 15; level += 1) bomb = Array.from({ length: 10 }, () => bomb);
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(mistakes({ ...minimal, labels: bomb })).toEqual([' TOO_LARGE']);
    expect(mistakes(circle)).toEqual([expect.stringMatching(/ TOO_DEEP$/)]);
  });

  it('more than a hundred mistakes end with their number', () => {
    const parsed = parseJobSpec({ ...minimal, outputs: Array.from({ length: 150 }, () => '') });
    expect(parsed).toMatchObject({ ok: false });
    expect(parsed.ok ? [] : parsed.errors).toHaveLength(100);
    expect(message({ ...minimal, outputs: Array.from({ length: 150 }, () => '') })).toContain('has 51 more mistakes');
  });
});

describe('docs/reference/job-file.md', () => {
  const page = readFileSync('docs/reference/job-file.md', 'utf8');

  const fieldsOf = (type: InputClass, before = ''): string[] => {
    const names = [...new Set(rulesOf(type).map(([name]) => name))];
    return names.flatMap((name) => {
      const nested = nestedField(type, name)?.type();
      return [before + name, ...(nested ? fieldsOf(nested, `${before}${name}.`) : [])];
    });
  };

  it('has a row for each field, and no other', () => {
    const rows = [...page.matchAll(/^\| `([A-Za-z0-9.]+)` /gm)].map(([, name = '']) => name);
    expect(rows.toSorted()).toEqual(fieldsOf(JobSpecDto).toSorted());
  });

  it('begins with a file that is taken, without a warning', () => {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    expect(warnings(parse(example))).toEqual([]);
    expect(Object.keys(spec(parse(example)))).toEqual(expect.arrayContaining(['batch', 'budget', 'weights']));
  });
});
