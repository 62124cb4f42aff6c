import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import * as kernel from '#kernel';
import * as governor from './index.js';

/* What docs/explanation/governor.md shows is run as it stands there. */

const page = readFileSync('docs/explanation/governor.md', 'utf8');

const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (
  ...source: string[]
) => (...given: unknown[]) => Promise<void>;

describe('the page on the governor', () => {
  it('shows a program that prints what it says', async () => {
    const [, program = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
    const [, printed] = /It prints `(.*?)`/.exec(page) ?? [];
    const body = program.replace(/import (\{.*?\}) from '(#\w+)';/g, "const $1 = modules['$2'];");
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
    const lines: unknown[] = [];
    const run = new AsyncFunction('modules', 'console', body);
    await run({ '#kernel': kernel, '#governor': governor }, { log: (line: unknown) => lines.push(line) });
    expect(lines.map((line) => JSON.stringify(line))).toEqual([printed]);
  });
});
