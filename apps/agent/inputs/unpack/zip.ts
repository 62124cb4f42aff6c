import * as zlib from 'node:zlib';
import { getFileNameLowLevel, openPromise } from 'yauzl';
import type { Entry as ZipEntry, ZipFile } from 'yauzl';
import { shown } from './entry.js';
import type { Entry } from './entry.js';
import { refused, refusedEntry } from './refusal.js';

/** Systems (in the high byte of `versionMadeBy`) whose entries carry a Unix mode. */
const UNIX = new Set([3, 19]);
const KIND = 0o170_000;
const FOLDER = 0o040_000;
const FILE = 0o100_000;
const LINK = 0o120_000;
const LONGEST_TARGET = 4_096;

/**
 * The entries of a zip file, in the order of its directory at the end, which is what it goes by; a content that is not as the
 * directory says, by length or checksum, is corrupt.
 */
export async function* zipEntries(path: string): AsyncGenerator<Entry, void> {
  // Names are decoded here: the library would give up at the first that it dislikes, without telling which.
  const zip = await openPromise(path, { decodeStrings: false, autoClose: false });
  try {
    for await (const one of zip.eachEntry()) yield await entryOf(zip, one);
  } finally {
    zip.close();
  }
}

const entryOf = async (zip: ZipFile, one: ZipEntry): Promise<Entry> => {
  const name = getFileNameLowLevel(one.generalPurposeBitFlag, one.fileNameRaw, one.extraFields, true);
  const mode = UNIX.has(one.versionMadeBy >> 8) ? one.externalFileAttributes >>> 16 : 0;
  const kind = mode & KIND;
  if (name.endsWith('/') || kind === FOLDER) return { kind: 'folder', name, mode: mode === 0 ? 0o755 : mode };
  if (kind !== 0 && kind !== FILE && kind !== LINK)
    return { kind: 'refused', name, why: 'is a device, a pipe or a socket' };
  if (one.isEncrypted()) return { kind: 'refused', name, why: 'is encrypted' };
  if (!one.canDecodeFileData())
    return { kind: 'refused', name, why: `is compressed in a way that is not taken (method ${one.compressionMethod})` };
  if (kind === LINK) return { kind: 'link', name, target: await targetOf(zip, one, name) };
  const modified = one.getLastModDate();
  const body = (): AsyncIterable<Buffer> => contentOf(zip, one, name);
  return { kind: 'file', name, mode: mode === 0 ? 0o644 : mode, size: one.uncompressedSize, modified, body };
};

/** A link's content is where it leads. */
const targetOf = async (zip: ZipFile, one: ZipEntry, name: string): Promise<string> => {
  if (one.uncompressedSize > LONGEST_TARGET) throw refusedEntry(name, 'is a link whose target is too long');
  const chunks: Buffer[] = [];
  for await (const chunk of contentOf(zip, one, name)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

async function* contentOf(zip: ZipFile, one: ZipEntry, name: string): AsyncGenerator<Buffer, void> {
  let sum = 0;
  for await (const chunk of (await zip.openReadStreamPromise(one)) as AsyncIterable<Buffer>) {
    sum = zlib.crc32(chunk, sum);
    yield chunk;
  }
  if (sum !== one.crc32) throw refused('archive-corrupt', `the checksum of ${shown(name)} is wrong`);
}
