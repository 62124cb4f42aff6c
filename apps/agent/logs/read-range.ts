import { open } from 'node:fs/promises';

const EMPTY = new Uint8Array(0);

/** Up to `length` bytes of a file from `offset`; fewer at its end, none when there is no such file. */
export const readRange = async (path: string, offset: number, length: number): Promise<Uint8Array> => {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return EMPTY;
  try {
    const { size } = await file.stat();
    const wanted = Math.min(length, size - offset);
    if (wanted <= 0) return EMPTY;
    const { bytesRead, buffer } = await file.read(new Uint8Array(wanted), 0, wanted, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};

/** The last lines of a file after its first `from` bytes, at most `lines` of them and 4 KiB in all. */
export const lastLines = async (path: string, lines: number, from = 0): Promise<string[]> => {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return [];
  try {
    const { size } = await file.stat();
    const length = Math.min(Math.max(0, size - from), 4096);
    const { buffer } = await file.read(new Uint8Array(length), 0, length, size - length);
    const text = new TextDecoder().decode(buffer).replace(/\n$/, '');
    return text === '' ? [] : text.split('\n').slice(-lines);
  } finally {
    await file.close();
  }
};
