import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { readProcFile } from './proc-file.js';

describe('a file of /proc', () => {
  it('is read as it is, one after another', () => {
    const own = `/proc/${process.pid}`;
    for (const name of ['cmdline', 'environ', 'limits', 'cmdline'])
      expect(readProcFile(`${own}/${name}`)).toBe(readFileSync(`${own}/${name}`, 'latin1'));
  });

  it('is read to its end, however large', async () => {
    const large = Object.fromEntries(Array.from({ length: 4 }, (_, index) => [`LARGE_${index}`, 'é'.repeat(50_000)]));
    const child = spawn('cat', { env: { ...process.env, ...large }, stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.write('up');
    await once(child.stdout, 'data');
    const names = (readProcFile(`/proc/${child.pid ?? 0}/environ`) ?? '').split('\0').map((entry) => entry.length);
    child.stdin.end();
    await once(child, 'close');
    expect(names.filter((length) => length === 'LARGE_0='.length + 100_000)).toHaveLength(4);
  });

  it('is nothing when it is not there', () => {
    expect(readProcFile('/proc/0/stat')).toBeUndefined();
    expect(readProcFile('/proc')).toBeUndefined();
  });
});
