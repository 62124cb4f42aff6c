import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { exceeded, limitsOf, outOfMemory } from './limits.js';
import type { Limits } from './limits.js';

const MIB = 2 ** 20;
const contract = { cpu: 1, memory: 256 * MIB, disk: 10 * MIB, ioSlots: 0, gpus: [] };

describe('the limits of a contract', () => {
  it.each([
    ['watchdog', contract, { memory: 256 * MIB, disk: 10 * MIB, processes: 100 }],
    ['cgroup', { ...contract, disk: 0 }, { memory: 256 * MIB, processes: 100 }],
    ['none', contract, {}],
  ] as const)('%s', (enforcement, given, expected) => expect(limitsOf(given, 100, enforcement)).toEqual(expected));
});

describe('a task that uses more than it may', () => {
  const limits = limitsOf(contract, 100, 'watchdog');

  it.each([
    [{ memory: 256 * MIB, disk: 10 * MIB, processes: 100 }, undefined],
    [{ memory: 256 * MIB + 1 }, 'resource/out-of-memory'],
    [{ disk: 10 * MIB + 1 }, 'resource/disk-full'],
    [{ processes: 101 }, 'resource/too-many-processes'],
    [{}, undefined],
  ])('%j: %s', (usage, expected) => {
    const found = exceeded(limits, usage);
    expect(found && `${found.class}/${found.code}`).toBe(expected);
  });

  it('is told with what it used and what it may use', () => {
    expect(exceeded(limits, { memory: 512 * MIB })).toEqual({
      class: 'resource',
      code: 'out-of-memory',
      message: 'the task used 512 MiB of memory, 256 MiB are allowed',
      diagnostics: { peakMemory: 512 * MIB, memoryLimit: 256 * MIB, enforcedBy: 'watchdog' },
    });
    expect(outOfMemory(1, 2).diagnostics).toEqual({ peakMemory: 1, memoryLimit: 2 });
  });

  const amounts = fc.record(
    { memory: fc.nat(), disk: fc.nat(), processes: fc.nat() },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Limits>;

  it('fails exactly when one amount is above its limit', () =>
    fc.assert(
      fc.property(amounts, amounts, (most, used) => {
        const over = (['memory', 'disk', 'processes'] as const).some(
          (key) => (used[key] ?? 0) > (most[key] ?? Infinity),
        );
        expect(exceeded(most, used) !== undefined).toBe(over);
      }),
    ));
});
