import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { validateEvent } from '#contracts/events';
import { FACTORS, FAILURE_CLASSES } from '#jobs';
import type { JobSpec } from '#jobs';
import { canonicalFingerprint } from './fingerprint.js';
import { parseJobSpec } from './job-file.js';

/* Every job that can be described: the parser must give each back as it is. */

const name = fc.stringMatching(/^[A-Za-z0-9é][A-Za-z0-9 é._-]{0,20}[A-Za-z0-9é]$/);
const identifier = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const bytes = fc.nat({ max: 2 ** 45 });
const milli = (max: number): fc.Arbitrary<number> =>
  fc.integer({ min: 1, max: max * 1000 }).map((value) => value / 1000);
const seconds = fc.integer({ min: 1, max: 1e9 }).map((value) => value / 1000);
const path = fc
  .array(fc.stringMatching(/^[a-z*][a-z0-9.*]{0,8}$/), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'));
const optional = <Value>(key: string, value: fc.Arbitrary<Value>): fc.Arbitrary<object> =>
  fc.oneof(
    fc.constant({}),
    value.map((given) => ({ [key]: given })),
  );
const merged = (...parts: fc.Arbitrary<object>[]): fc.Arbitrary<object> =>
  fc.tuple(...parts).map((objects) => Object.assign({}, ...objects) as object);

const version = fc.constantFrom('>=20', '1.26.x', '^3 || 5', '~=1.4', '1.0 - 2.0');
const software = merged(fc.record({ name }), optional('version', version));
const constraint = fc.constantFrom(
  'region in (br, eu)',
  '!spot',
  'rack = a1',
  'gpu',
  'node.memory >= 1e9',
  'a != "b c"',
);

const gpu = fc
  .oneof(
    fc.record({ count: fc.integer({ min: 1, max: 64 }), share: fc.constant(1) }),
    fc.record({ count: fc.constant(1), share: milli(1) }),
  )
  .chain((shape) =>
    merged(fc.constant(shape), optional('memory', bytes), fc.record({ models: fc.array(name, { maxLength: 3 }) })),
  );

const resources = merged(
  fc.record({
    cpu: milli(128),
    memory: bytes.map((value) => value + 1),
    disk: bytes,
    ioSlots: fc.nat({ max: 16 }),
  }),
  optional('gpu', gpu),
);

const batch = fc
  .tuple(fc.integer({ min: 1, max: 4096 }), fc.nat({ max: 4095 }), bytes)
  .map(([size, less, memoryPerItem]) => ({
    size,
    min: Math.max(1, size - less),
    memoryPerItem,
    gpuMemoryPerItem: 0,
  }));

const source = fc.oneof(
  fc.stringMatching(/^[0-9a-f]{64}$/).map((hex) => `sha256:${hex}`),
  path.map((at) => `https://example.org/${at}`),
  path.map((at) => `job:018f-7/${at}`),
);
const digested = fc.record({
  source: path.map((at) => `http://example.org/${at}`),
  path,
  sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
});
const input = fc.oneof(fc.record({ source, path }), digested);
const inputs = fc.uniqueArray(merged(input, optional('size', bytes), optional('unpack', fc.constant(true))), {
  maxLength: 3,
  selector: (input) => (input as { path: string }).path,
});

const retried = FAILURE_CLASSES.filter((one) => one !== 'cancelled');
const retry = fc
  .tuple(fc.integer({ min: 1, max: 100 }), seconds, seconds, fc.boolean(), fc.uniqueArray(fc.constantFrom(...retried)))
  .map(([attempts, interval, more, constant, on]) => ({
    attempts,
    backoff: constant ? 'constant' : 'exponential',
    interval,
    maxInterval: constant ? interval : Math.round((interval + more) * 1000) / 1000,
    on,
  }));

const timeouts = fc
  .tuple(fc.record({ confirm: seconds }), optional('queue', seconds), optional('run', seconds), fc.boolean())
  .map(([confirm, queue, run, bounded]) => {
    const parts: { queue?: number; run?: number } = { ...queue, ...run };
    const total = Math.ceil((parts.queue ?? 0) + (parts.run ?? 0)) + 1;
    return { ...confirm, ...parts, ...(bounded && { total }) };
  });

const weights = fc
  .tuple(...FACTORS.map(() => fc.double({ min: 0, max: 100, noNaN: true })))
  .filter((values) => values.some((value) => value > 0))
  .map((values) => Object.fromEntries(FACTORS.map((factor, index) => [factor, (values[index] ?? 0) + 0])));

const texts = (key: RegExp): fc.Arbitrary<object> =>
  fc.dictionary(
    fc.stringMatching(key),
    fc.string({ maxLength: 20 }).map((text) => text.replaceAll('\u0000', '')),
    {
      maxKeys: 4,
      noNullPrototype: true,
    },
  );

const spec = merged(
  fc.record({
    name,
    project: identifier,
    type: fc.constantFrom('batch', 'ops', 'service', 'daemon'),
    count: fc.integer({ min: 1, max: 10_000 }),
    priority: fc.integer({ min: 0, max: 100 }),
  }),
  optional('application', software),
  fc.record({
    packages: fc.array(software, { maxLength: 3 }),
    architecture: fc.uniqueArray(fc.constantFrom('x64', 'arm64', 'riscv64')),
    constraints: fc.array(constraint, { maxLength: 3 }),
    preferences: fc.array(fc.record({ constraint, weight: fc.integer({ min: 1, max: 100 }) }), { maxLength: 3 }),
    resources,
    estimate: optional('duration', seconds),
  }),
  optional('batch', batch),
  fc.record({
    task: fc.record({
      command: fc.array(fc.stringMatching(/^[a-z -]{1,12}$/), { minLength: 1, maxLength: 4 }),
      env: texts(/^[A-DF-Z_][A-Z0-9_]{0,8}$/),
    }),
    inputs,
    outputs: fc.array(path, { maxLength: 3 }),
  }),
  fc.oneof(
    optional('weights', weights),
    optional('profile', fc.constantFrom('balanced', 'cpu', 'gpu', 'memory', 'interactive', 'long', 'cheap')),
  ),
  optional('budget', fc.record({ maxCost: fc.double({ min: 0, max: 1e6, noNaN: true }).map((cost) => cost + 0) })),
  fc.record({
    dependsOn: fc.array(fc.record({ job: identifier, when: fc.constantFrom('completed', 'failed', 'terminal') }), {
      maxLength: 3,
    }),
    retry,
    timeouts,
    labels: texts(/^[a-df-z][a-z0-9._/-]{0,8}$/),
  }),
).map((job) => {
  return JSON.parse(JSON.stringify(fitting(job as unknown as JobSpec))) as JobSpec;
});

/** Without what its type ignores. */
const fitting = (job: JobSpec): JobSpec => {
  const { type, retry: given, timeouts: bounds } = job;
  if (type === 'ops') return { ...job, count: 1 };
  if (type !== 'daemon') return job;
  const { queue: _queue, ...kept } = bounds;
  return { ...job, count: 1, timeouts: kept, retry: { ...given, attempts: 100, on: DAEMON_ON } };
};

const DAEMON_ON = FAILURE_CLASSES.filter((one) => !['input', 'policy', 'cancelled'].includes(one));

const parsed = (input: unknown): JobSpec => {
  const answer = parseJobSpec(input);
  if (!answer.ok) throw new Error(JSON.stringify(answer.errors));
  return answer.spec;
};

describe('every job', () => {
  it('E-01 comes out of the parser as it went in', () => {
    fc.assert(
      fc.property(spec, (job) => {
        expect(parsed(job)).toStrictEqual(job);
      }),
    );
  });

  it('A-10 is what the schema of JobSubmitted describes', () => {
    fc.assert(
      fc.property(spec, (job) => {
        const data = {
          jobId: 'j-1',
          spec: parsed(job),
          account: 'ana',
          institution: 'usp',
          evaluationId: 'e-1',
          fingerprint: canonicalFingerprint(job),
          at: '2026-11-29T20:11:05.000Z',
        };
        expect(validateEvent('JobSubmitted', 1, data)).toEqual([]);
      }),
    );
  });

  it('E-02 has one fingerprint whatever the order of its fields', () => {
    fc.assert(
      fc.property(spec, (job) => {
        const reversed = Object.fromEntries(Object.entries(job).toReversed());
        expect(canonicalFingerprint(parsed(reversed))).toBe(canonicalFingerprint(job));
      }),
    );
  });

  it('no input of any kind makes the parser throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true }), fc.json()),
        (input) => {
          expect(parseJobSpec(input).ok).toBe(false);
        },
      ),
    );
    fc.assert(
      fc.property(spec, fc.anything(), fc.nat(), (job, junk, index) => {
        const keys = Object.keys(job);
        expect(() => parseJobSpec({ ...job, [keys[index % keys.length] ?? 'name']: junk })).not.toThrow();
      }),
    );
  });
});
