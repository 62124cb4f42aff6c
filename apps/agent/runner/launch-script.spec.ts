import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { launchScript } from './launch-script.js';

describe('the script that becomes the task', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'escalon-launch-'));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  const seen = (environment: Record<string, string>): Record<string, string> => {
    const script = join(folder, 'launch');
    writeFileSync(script, launchScript(environment));
    const out = execFileSync('/bin/sh', [script, '/usr/bin/env', '-0'], { env: {} }).toString();
    return Object.fromEntries(
      out
        .split('\0')
        .filter((line) => line !== '')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
  };

  it('gives the program exactly these variables, those that shells keep for themselves too', () => {
    const odd = {
      UID: '5',
      OPTIND: 'x',
      RANDOM: 'no',
      IFS: 'a',
      PPID: '1',
      SHELLOPTS: 'xtrace',
      PS4: '$(touch /tmp/never)',
    };
    expect(seen(odd)).toMatchObject(odd);
  });

  const name = fc.stringMatching(/^X[A-Z_]{0,8}$/);
  const value = fc.oneof(
    fc.string().map((text) => text.replaceAll('\0', '')),
    fc.constantFrom("'; exit 9; '", '$(exit 9)', '`id`', '\n\n', '\\', '"', "''"),
  );

  it('whatever their values are', () =>
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 4 }), (environment) => {
        expect(seen({ ...environment })).toMatchObject({ ...environment });
      }),
      { numRuns: 40 },
    ));
});
