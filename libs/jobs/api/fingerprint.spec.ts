import { describe, expect, it } from '@jest/globals';
import { canonicalFingerprint } from './fingerprint.js';
import { parseJobSpec } from './job-file.js';

const fingerprint = (input: unknown): string => {
  const parsed = parseJobSpec(input);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return canonicalFingerprint(parsed.spec);
};

const job = { name: 'a', project: 'p', task: { command: ['x'], env: { B: '2', A: '1' } } };

describe('the fingerprint of a job', () => {
  it('E-02 is the same however the file writes the job', () => {
    const other = {
      task: { env: { A: '1', B: '2' }, command: ['x'] },
      resources: { memory: '512MiB', cpu: 0.5 },
      timeouts: { confirm: '15s' },
      project: 'p',
      name: 'a',
      priority: 50,
    };
    expect(fingerprint(other)).toBe(fingerprint(job));
    expect(fingerprint(job)).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['a number', { ...job, count: 2 }],
    ['the order of arguments', { ...job, task: { command: ['x', 'y', 'z'] } }],
    ['the absence of a field', { ...job, labels: { a: '' } }],
  ])('E-02 differs with %s', (_name, other) => {
    expect(fingerprint(other)).not.toBe(fingerprint(job));
    const swapped = { ...job, task: { command: ['x', 'z', 'y'] } };
    expect(fingerprint(other)).not.toBe(fingerprint(swapped));
  });
});
