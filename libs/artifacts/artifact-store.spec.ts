import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DigestMismatch, LocalArtifactStore, UploadGap } from './index.js';

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const from = (bytes: Uint8Array): Readable => Readable.from([Buffer.from(bytes)]);

/** Bytes that stop half way, as a cut connection does, once `arrived` says that they are there. */
const cut = (bytes: Uint8Array, arrived: () => Promise<boolean> = () => Promise.resolve(true)): Readable =>
  Readable.from(
    (async function* () {
      yield Buffer.from(bytes);
      while (!(await arrived())) await new Promise((resolve) => setImmediate(resolve));
      throw new Error('connection reset');
    })(),
  );

describe('the local artifact store', () => {
  let root: string;
  let store: LocalArtifactStore;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'escalon-artifacts-'));
    store = new LocalArtifactStore(root);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const bytesOf = async (sha256: string, range?: { start?: number; end?: number }): Promise<string> => {
    const parts: Buffer[] = [];
    for await (const part of store.read(sha256, range)) parts.push(part as Buffer);
    return Buffer.concat(parts).toString();
  };

  it('keeps bytes under their digest and reads any range of them', async () => {
    const bytes = Buffer.from('hello world');
    const sha256 = digestOf(bytes);
    expect(await store.size(sha256)).toBeUndefined();
    expect(await store.put(sha256, from(bytes))).toBe(11);
    expect(await store.size(sha256)).toBe(11);
    expect(await bytesOf(sha256)).toBe('hello world');
    expect(await bytesOf(sha256, { start: 6, end: 8 })).toBe('wor');
  });

  it('keeps an empty file', async () => {
    const sha256 = digestOf(Buffer.alloc(0));
    expect(await store.put(sha256, Readable.from([]))).toBe(0);
    expect(await bytesOf(sha256)).toBe('');
  });

  it('refuses bytes that are not those of the digest, and keeps nothing of them', async () => {
    const sha256 = digestOf(Buffer.from('right'));
    await expect(store.put(sha256, from(Buffer.from('wrong')))).rejects.toBeInstanceOf(DigestMismatch);
    expect(await store.size(sha256)).toBeUndefined();
    expect(await store.offset(sha256)).toBe(0);
    expect(await store.put(sha256, from(Buffer.from('right')))).toBe(5);
  });

  it('continues an upload where it broke off, and says where that is', async () => {
    const bytes = Buffer.from('0123456789');
    const sha256 = digestOf(bytes);
    await expect(
      store.put(
        sha256,
        cut(bytes.subarray(0, 4), async () => (await store.offset(sha256)) === 4),
      ),
    ).rejects.toThrow('connection reset');
    expect(await store.size(sha256)).toBeUndefined();
    expect(await store.offset(sha256)).toBe(4);
    await expect(store.put(sha256, from(bytes.subarray(7)), 7)).rejects.toMatchObject({ expected: 4 });
    await expect(store.put(sha256, from(bytes.subarray(7)), 7)).rejects.toBeInstanceOf(UploadGap);
    expect(await store.put(sha256, from(bytes.subarray(4)), 4)).toBe(10);
    expect(await bytesOf(sha256)).toBe('0123456789');
  });

  it('starts over what an earlier process left of another attempt', async () => {
    const bytes = Buffer.from('fresh');
    const sha256 = digestOf(bytes);
    const stale = cut(Buffer.from('stale and much longer'), async () => (await store.offset(sha256)) > 0);
    await expect(store.put(sha256, stale)).rejects.toThrow('connection reset');
    const later = new LocalArtifactStore(root);
    expect(await later.put(sha256, from(bytes))).toBe(5);
  });

  it('takes the same bytes from several at once and stores them once', async () => {
    const bytes = Buffer.alloc(100_000, 7);
    const sha256 = digestOf(bytes);
    const sizes = await Promise.all([1, 2, 3].map(() => store.put(sha256, from(bytes))));
    expect(sizes).toEqual([100_000, 100_000, 100_000]);
    expect(await readdir(join(root, 'incoming'))).toEqual([]);
  });

  it('never shows a file that is not whole, wherever the upload is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc.array(fc.nat(), { maxLength: 4 }),
        async (bytes, cuts) => {
          const sha256 = digestOf(bytes);
          const fresh = new LocalArtifactStore(await mkdtemp(join(root, 'case-')));
          for (const place of cuts) {
            const offset = await fresh.offset(sha256);
            const end = Math.min(bytes.length - 1, offset + (place % bytes.length));
            await fresh.put(sha256, cut(bytes.subarray(offset, end)), offset).catch(() => undefined);
            expect(await fresh.size(sha256)).toBeUndefined();
          }
          const offset = await fresh.offset(sha256);
          expect(await fresh.put(sha256, from(bytes.subarray(offset)), offset)).toBe(bytes.length);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('does not take a file that stands in its folder for an artifact', async () => {
    await writeFile(join(root, 'stray'), 'x');
    expect(await store.size('f'.repeat(64))).toBeUndefined();
    expect(await readFile(join(root, 'stray'), 'utf8')).toBe('x');
  });
});
