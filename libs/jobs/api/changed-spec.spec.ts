import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aJobSpec } from '#testing';
import { changedSpec } from './changed-spec.js';
import { canonicalFingerprint } from './fingerprint.js';
import { parseJobSpec } from './job-file.js';

describe('E-06 a changed job file', () => {
  it('keeps what is not named, changes names one by one, and takes out what is null', () => {
    const spec = aJobSpec({ labels: { study: 'coral', year: '2026' }, timeouts: { confirm: 15, run: 60 } });
    const changes = {
      resources: { memory: '8GiB' },
      task: { command: ['true'] },
      labels: { year: null, place: 'sea' },
      timeouts: null,
    };
    const parsed = parseJobSpec(changedSpec(spec, changes));
    expect(parsed.ok && parsed.spec).toEqual({
      ...spec,
      resources: { ...spec.resources, memory: 8 * 1024 ** 3 },
      task: { command: ['true'], env: {} },
      labels: { study: 'coral', place: 'sea' },
      timeouts: { confirm: 15 },
    });
  });

  it('is checked as a whole, and every mistake is named', () => {
    const parsed = parseJobSpec(changedSpec(aJobSpec(), { count: 0, colour: 'red', resources: { cpu: -1 } }));
    expect(parsed.ok ? [] : parsed.errors.map(({ pointer }) => pointer).sort()).toEqual([
      '/colour',
      '/count',
      '/resources/cpu',
    ]);
  });

  it('without changes is the same job, and nothing that is sent reaches beyond it', () => {
    expect(changedSpec(aJobSpec(), {})).toEqual(aJobSpec());
    fc.assert(
      fc.property(fc.object(), fc.object(), (spec, changes) => {
        const before = JSON.stringify(spec);
        changedSpec(spec, changes);
        expect(JSON.stringify(spec)).toBe(before);
      }),
    );
    changedSpec({}, JSON.parse('{"__proto__":{"polluted":true}}') as object);
    expect({}).not.toHaveProperty('polluted');
  });

  it('E-02 has another fingerprint than the same job submitted, and than a rerun of another', () => {
    const spec = aJobSpec();
    const prints = [canonicalFingerprint(spec), canonicalFingerprint(spec, 'a'), canonicalFingerprint(spec, 'b')];
    expect(new Set(prints).size).toBe(3);
  });
});
