import { describe, expect, it } from '@jest/globals';
import { failedTry } from './failed-try.js';

const MIB = 2 ** 20;

describe('A-43 how the last failure is shown', () => {
  it('names where, why, exit, signal, peak memory, disk and the last lines', () => {
    const diagnostics = {
      stdout: ['half way'],
      stderr: ['loading', 'killed'],
      signal: 'SIGKILL',
      peakMemory: 300 * MIB,
      memoryLimit: 256 * MIB,
      disk: 2 * MIB,
    };
    const failure = { class: 'resource', code: 'out-of-memory', message: 'the task used 300 MiB of memory' };
    const tried = { executionId: 'e', attempt: 2, nodeId: 'lab-1', exitCode: 137, failure, diagnostics };
    expect(failedTry(tried)).toBe(`
attempt 2 failed on lab-1 (resource, out-of-memory): the task used 300 MiB of memory
  exit code 137, SIGKILL, memory at most 300 MiB of 256 MiB, disk at most 2 MiB
  last lines of stdout:
    half way
  last lines of stderr:
    loading
    killed
`);
  });

  it('is short when little is known, and nothing when nothing failed', () => {
    const failure = { class: 'infrastructure', code: 'agent-restarted', message: 'the task is gone' };
    const tried = { executionId: 'e', attempt: 1, nodeId: 'lab-1', exitCode: null, failure, diagnostics: {} };
    expect(failedTry(tried)).toBe('\nattempt 1 failed on lab-1 (infrastructure, agent-restarted): the task is gone\n');
    expect(failedTry(null)).toBe('');
    expect(failedTry(undefined)).toBe('');
  });
});
