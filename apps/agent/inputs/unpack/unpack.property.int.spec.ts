import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ExecutionFault } from '../../executions/ending.js';
import { tarOf, zipOf } from '../../testing/archives.js';
import type { TarEntry } from '../../testing/archives.js';
import { troubleIn } from '../../testing/leads-outside.js';
import { OutsideFolder } from '../../testing/outside-folder.js';
import { unpack } from './unpack.js';

/* Few names, so that entries meet: as parents, as links on the way, as what is there already. */

const tame = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const nasty = fc.constantFrom('..', '.', '', '~', 'A', 'é', '\\', 'C:', '\u0001', '\n', 'a b', 'x'.repeat(300), '...');
const part = fc.oneof({ weight: 40, arbitrary: tame }, { weight: 1, arbitrary: nasty });
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const name = fc.oneof({ weight: 80, arbitrary: path }, { weight: 1, arbitrary: path.map((one) => `/${one}`) });

/** Mostly such as might be taken: some way up, then down. */
const target = fc.oneof(
  { weight: 20, arbitrary: path },
  { weight: 20, arbitrary: fc.tuple(fc.integer({ min: 1, max: 3 }), path).map(([up, on]) => '../'.repeat(up) + on) },
  { weight: 8, arbitrary: fc.constantFrom('.', '..', '../..', 'a/..', './a', 'a/../..', 'b/../../c') },
  { weight: 1, arbitrary: fc.constantFrom('/', '/etc/passwd', '../../outside/canary', '../outside', 'x\0y') },
);
const mode = fc.constantFrom(0o644, 0o755, 0o4755, 0o7777, 0o000, 0o222);

const entry: fc.Arbitrary<TarEntry> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ name, content: fc.string({ maxLength: 8 }), mode }) },
  { weight: 6, arbitrary: fc.record({ name, type: fc.constant('directory' as const), mode }) },
  { weight: 8, arbitrary: fc.record({ name, type: fc.constant('symlink' as const), linkname: target }) },
  { weight: 2, arbitrary: fc.record({ name, type: fc.constant('link' as const), linkname: name }) },
  {
    weight: 1,
    arbitrary: fc.record({
      name,
      type: fc.constantFrom('fifo' as const, 'character-device' as const),
      devmajor: fc.constant(1),
    }),
  },
);
const entries = fc.array(entry, { minLength: 1, maxLength: 8 });

interface Unpacked {
  readonly folder: string;
  readonly taken: boolean;
}

/** Unpacks for real, looks at all that is there, and tells `look` how it went. */
const unpacked = async (bytes: Buffer, look: (unpacked: Unpacked) => void): Promise<void> => {
  const base = await mkdtemp(join(tmpdir(), 'escalon-unpack-'));
  const [archive, work] = [join(base, 'archive'), join(base, 'work')];
  const folder = join(work, 'data');
  const outside = new OutsideFolder(base, work);
  writeFileSync(archive, bytes);
  outside.remember();
  const limits = { bytes: 10_000, whose: 'enough', entries: 100 };
  const signal = new AbortController().signal;
  const error: unknown = await unpack(
    { archive, folder, name: 'data', limits, written: () => undefined },
    signal,
  ).catch((caught: unknown) => caught);
  outside.expectUntouched();
  if (error !== undefined) {
    if (!(error instanceof ExecutionFault)) throw new Error('a fault, not a refusal', { cause: error });
    expect(error.failure).toMatchObject({ class: 'input', code: expect.stringMatching(/^archive-/) as unknown });
  }
  expect(troubleIn(folder)).toEqual([]);
  look({ folder, taken: error === undefined });
  await rm(base, { recursive: true });
};

/** All of them as they were packed; a name that ends with `/` is that of a folder, whatever else the entry says. */
const expectFiles = (folder: string, files: readonly TarEntry[]): void => {
  for (const { name: at, content = '' } of files)
    if (at.endsWith('/')) expect(existsSync(join(folder, at))).toBe(true);
    else expect(readFileSync(join(folder, at), 'utf8')).toBe(content);
};

describe('whatever an archive holds', () => {
  it('it is refused, or all of it is inside the folder; nothing outside is read or written', async () => {
    let [taken, refused, links] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(entries, fc.boolean(), async (list, compressed) => {
        const bytes = await tarOf(...list);
        await unpacked(compressed ? gzipSync(bytes) : bytes, (result) => {
          if (!result.taken) return void (refused += 1);
          taken += 1;
          links += list.filter(({ type }) => type === 'symlink').length;
          expectFiles(
            result.folder,
            list.filter(({ type }) => type === undefined),
          );
        });
      }),
      { numRuns: 500 },
    );
    // Else the entries were such that nothing was tried.
    expect(Math.min(taken, refused, links)).toBeGreaterThan(40);
  });

  it('also when it is a zip file', async () => {
    const kinds = new Map<string, number>([
      ['symlink', 0o120777],
      ['fifo', 0o010666],
      ['character-device', 0o020666],
    ]);
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(entries, async (list) => {
        const zipped = list.map(({ name: at, content, type = 'file', linkname, mode: bits = 0o644 }) =>
          type === 'directory'
            ? { name: `${at}/`, mode: 0o040000 | bits }
            : {
                name: at,
                content: linkname ?? content ?? '',
                mode: kinds.get(type) ?? 0o100000 | bits,
              },
        );
        await unpacked(zipOf(...zipped), (result) => {
          taken += Number(result.taken && existsSync(result.folder));
        });
      }),
      { numRuns: 200 },
    );
    expect(taken).toBeGreaterThan(15);
  });

  it('and whatever its bytes are', async () => {
    const whole = fc.tuple(entries, fc.constantFrom('tar', 'gzip', 'zip'));
    const damage = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(whole, damage, fc.nat(), async ([list, format], damages, cut) => {
        const names = list.map(({ name: at, content = '' }) => ({ name: at, content }));
        const tar = await tarOf(...list);
        const bytes = format === 'zip' ? zipOf(...names) : format === 'gzip' ? gzipSync(tar) : tar;
        for (const [at, byte] of damages) bytes[at % bytes.length] = byte;
        await unpacked(bytes.subarray(0, bytes.length - (cut % 4 === 0 ? cut % bytes.length : 0)), () => undefined);
      }),
      { numRuns: 300 },
    );
  });
});
