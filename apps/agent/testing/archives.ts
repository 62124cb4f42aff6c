import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import tar from 'tar-stream';

/** An entry of a tar file to be made; what is not said is as of a plain file. */
export type TarEntry = Partial<tar.Header> & { readonly name: string; readonly content?: string | Buffer };

/** A tar file of these entries, whatever they say. */
export const tarOf = async (...entries: readonly TarEntry[]): Promise<Buffer> => {
  const pack = tar.pack();
  for (const { content, ...header } of entries) {
    const isFile = header.type === undefined || header.type === 'file' || header.type === 'contiguous-file';
    if (isFile) pack.entry({ type: 'file', ...header }, Buffer.from(content ?? ''));
    else pack.entry(header);
  }
  pack.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of pack as AsyncIterable<unknown> as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
};

export const tarGzOf = async (...entries: readonly TarEntry[]): Promise<Buffer> => gzipSync(await tarOf(...entries));

/** A tar file whose first header has other bytes at a place, with a checksum that fits them. */
export const withHeader = (archive: Buffer, at: number, bytes: string | Buffer): Buffer => {
  const changed = Buffer.from(archive);
  Buffer.from(bytes).copy(changed, at);
  changed.fill(' ', 148, 156);
  const sum = changed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return changed;
};

/** An entry of a zip file to be made, and where its directory lies about it. */
export interface ZipEntry {
  readonly name: string;
  readonly content?: string | Buffer;
  /** Unix mode with the kind of the file; absent, the entry tells none. */
  readonly mode?: number;
  readonly stored?: boolean;
  /** Bits of the general purpose flag beside that of UTF-8 names: 1 is encrypted. */
  readonly flags?: number;
  readonly method?: number;
  readonly size?: number;
  readonly crc?: number;
}

const UTF8 = 0x800;
const UNIX = 0x31e;
/** The first of January 2026. */
const DATE = ((2026 - 1980) << 9) | (1 << 5) | 1;

/** A zip file of these entries, whatever they say. */
export const zipOf = (...entries: readonly ZipEntry[]): Buffer => {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const content = Buffer.from(entry.content ?? '');
    const data = entry.stored ? content : deflateRawSync(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(UTF8 | (entry.flags ?? 0), 2);
    common.writeUInt16LE(entry.method ?? (entry.stored ? 0 : 8), 4);
    common.writeUInt16LE(DATE, 8);
    common.writeUInt32LE(entry.crc ?? crc32(content), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(entry.size ?? content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, data]);
    files.push(file);
    directory.push(centralHeader(common, name, entry.mode, offset));
    offset += file.length;
  }
  return Buffer.concat([...files, ...directory, endOf(directory, offset)]);
};

const centralHeader = (common: Buffer, name: Buffer, mode: number | undefined, offset: number): Buffer => {
  const madeBy = Buffer.alloc(2);
  madeBy.writeUInt16LE(mode === undefined ? 20 : UNIX);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(((mode ?? 0) << 16) >>> 0, 6);
  rest.writeUInt32LE(offset, 10);
  return Buffer.concat([Buffer.from('PK\x01\x02'), madeBy, common, rest, name]);
};

const endOf = (directory: readonly Buffer[], offset: number): Buffer => {
  const end = Buffer.alloc(18);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([Buffer.from('PK\x05\x06'), end]);
};
