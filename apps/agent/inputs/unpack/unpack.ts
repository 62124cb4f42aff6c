import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { errorCode, messageOf } from '../../client/errors.js';
import { ExecutionFault, failure } from '../../executions/ending.js';
import type { Entry } from './entry.js';
import { FolderWriter } from './folder-writer.js';
import type { UnpackLimits } from './folder-writer.js';
import { refused } from './refusal.js';
import { isTar, tarEntries } from './tar.js';
import { zipEntries } from './zip.js';

/** What has to be unpacked where. */
export interface Unpacking {
  /** The archive's file, which is only read. */
  readonly archive: string;
  /** The folder that its content is put into. */
  readonly folder: string;
  /** What the folder is called in messages. */
  readonly name: string;
  readonly limits: UnpackLimits;
  /** Hears how many bytes of files are written so far. */
  readonly written: (bytes: number) => void;
}

/**
 * Unpacks a tar file (as it is, or compressed with gzip or, where Node.js knows it, zstd) or a zip file into a folder, told by
 * what is in it and not by its name. It is read and written piece by piece.
 *
 * What is refused or broken is an `ExecutionFault` of class `input`; what came before it in the archive is there then, and goes
 * with the folder. A `signal` that aborts ends it before the next piece.
 */
export const unpack = async (what: Unpacking, signal: AbortSignal): Promise<void> => {
  const { archive, folder, name, limits, written } = what;
  await makeRoot(folder, name);
  const writer = new FolderWriter(folder, limits, written, signal);
  try {
    for await (const entry of await entriesOf(archive)) await writer.put(entry);
  } catch (error) {
    throw signal.aborted ? error : ofArchive(error, name);
  }
};

const makeRoot = async (folder: string, name: string): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' && errorCode(error) !== 'ENOTDIR') throw error;
    throw new ExecutionFault(failure('input', 'input-path', `another input is where ${name} should be a folder`));
  }
};

const entriesOf = async (archive: string): Promise<AsyncIterable<Entry>> => {
  const begin = await beginOf(archive);
  if (isTar(begin)) return tarEntries(createReadStream(archive));
  const known = FORMATS.find(({ magic }) => begin.subarray(0, magic.length).equals(magic));
  if (!known) throw refused('archive-format', 'it is no tar, tar.gz, tar.zst or zip file');
  return known.read(archive);
};

const beginOf = async (archive: string): Promise<Buffer> => {
  const file = await open(archive);
  try {
    const begin = Buffer.alloc(512);
    const { bytesRead } = await file.read(begin, 0, begin.length, 0);
    return begin.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};

type Reader = (archive: string) => AsyncIterable<Entry>;

const unknown =
  (format: string): Reader =>
  () => {
    throw refused('archive-format', `it is ${format}, which is not taken here: pack it as tar.gz or zip`);
  };

const decompressed =
  (through: () => Transform): Reader =>
  (archive) => {
    const bytes = through();
    // What goes wrong is told by the one that is read.
    pipeline(createReadStream(archive), bytes, () => undefined);
    return tarEntries(bytes);
  };

/** Formats by the bytes that they begin with. */
const FORMATS: readonly { readonly magic: Buffer; readonly read: Reader }[] = [
  { magic: Buffer.from([0x1f, 0x8b]), read: decompressed(() => zlib.createGunzip()) },
  {
    magic: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
    read: 'createZstdDecompress' in zlib ? decompressed(() => zlib.createZstdDecompress()) : unknown('zstd'),
  },
  { magic: Buffer.from('PK\x03\x04'), read: zipEntries },
  { magic: Buffer.from('PK\x05\x06'), read: zipEntries },
  { magic: Buffer.from('BZh'), read: unknown('bzip2') },
  { magic: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]), read: unknown('xz') },
  { magic: Buffer.from([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]), read: unknown('7-Zip') },
  { magic: Buffer.from('Rar!'), read: unknown('RAR') },
];

/** Says which archive it was. What the system refused is no fault of the archive; what else a parser says, it is. */
const ofArchive = (error: unknown, name: string): unknown => {
  if (error instanceof ExecutionFault) {
    const { code, message } = error.failure;
    return new ExecutionFault(failure('input', code, `the archive for ${name} is refused: ${message}`));
  }
  if (typeof error === 'object' && error !== null && 'syscall' in error) return error;
  const message = `the archive for ${name} is corrupt or cut off: ${messageOf(error)}`;
  return new ExecutionFault(failure('input', 'archive-corrupt', message));
};
