import { describe, expect, it } from '@jest/globals';
import { diagnosticsOf, plainLines } from './diagnostics.js';

const contract = { memory: 512, disk: 0 };
const measured = { maxMemory: 300, maxDisk: 20 };

describe('A-43 the diagnostics of a run', () => {
  it('hold the last lines, the signal, peak memory and disk with what was granted', () => {
    const seen = { exit: { code: 137, cpuSeconds: 0 }, stdout: ['half'], stderr: ['bye'], measured, contract };
    const usage = { peakMemory: 300, memoryLimit: 512, disk: 20 };
    expect(diagnosticsOf(seen)).toEqual({ stdout: ['half'], stderr: ['bye'], signal: 'SIGKILL', ...usage });
    const quiet = { ...seen, exit: { code: 3, cpuSeconds: 0 }, stdout: [], contract: { memory: 512, disk: 30 } };
    expect(diagnosticsOf(quiet)).toEqual({ stderr: ['bye'], ...usage, diskLimit: 30 });
  });

  it.each([
    ['colours', '\u001b[1;31mError:\u001b[0m no', 'Error: no'],
    ['a progress bar', ' 10 %\r 50 %\r100 %\r', '100 %'],
    ['bytes that nobody prints', 'a\u0000b\u0007c\td', 'a\ufffdb\ufffdc\td'],
    ['nothing', '', ''],
  ])('show %s as a person would see them', (_, line, shown) => expect(plainLines([line])).toEqual([shown]));

  it('are short, the newest lines kept', () => {
    const lines = Array.from({ length: 20 }, (_, index) => `${index} ${'é'.repeat(500)}`);
    expect(plainLines(lines)).toEqual(lines.slice(-4));
  });
});
