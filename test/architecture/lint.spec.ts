import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/* Time, timers, ids and chance enter through the kernel's ports: what bypasses them must be refused. */

const bypasses = [
  'Date.now()',
  'new Date()',
  'Date()',
  'setTimeout(run, 1)',
  'setInterval(run, 1)',
  'globalThis.setTimeout(run, 1)',
  'Math.random()',
  'crypto.randomUUID()',
  'performance.now()',
  'process.hrtime.bigint()',
];
const allowed = ['new Date(5)', 'Date.parse("2026-01-01")', 'Math.max(1, 2)', 'setImmediate(run)'];

interface Message {
  readonly line: number;
  readonly ruleId: string | null;
}

/** Lints `lines` as if they were the text of `file`; answers the lines refused because of the ports. */
const refused = (lines: readonly string[], file: string): number[] => {
  const eslint = join('node_modules', 'eslint', 'bin', 'eslint.js');
  const run = spawnSync(process.execPath, [eslint, '--stdin', '--stdin-filename', file, '--format', 'json'], {
    input: lines.join('\n'),
    encoding: 'utf8',
    // Otherwise the parser reads the file from the disk and not the text given.
    env: { ...process.env, TSESTREE_SINGLE_RUN: 'false' },
  });
  const [result] = JSON.parse(run.stdout) as { messages: Message[] }[];
  const ports = /^no-restricted-(globals|properties|syntax|imports)$/;
  return [...new Set(result!.messages.filter(({ ruleId }) => ports.test(ruleId ?? '')).map(({ line }) => line))];
};

describe('the lint rule for the system ports', () => {
  const imports = [
    "import { setTimeout as sleep } from 'node:timers/promises';",
    "import { randomUUID } from 'node:crypto';",
  ];
  const calls = [...bypasses, ...allowed].map((call) => `export const v = ${call};`);

  it('refuses every bypass, and only those', () => {
    const lines = [...imports, ...calls];
    const expected = Array.from({ length: imports.length + bypasses.length }, (_, index) => index + 1);
    expect(refused(lines, 'libs/kernel/order.ts')).toEqual(expected);
  });
});
