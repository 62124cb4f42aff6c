import { closeSync, openSync, readSync } from 'node:fs';

/** Grows to the largest file that was read; most have less than a page. */
let buffer = Buffer.allocUnsafe(64 * 1024);

/**
 * The text (latin1) of a file of `/proc`, or undefined when it is not there or not for us. Such files tell no size, for which
 * the usual way to read a file takes new memory every time: too dear for what is read of every process, again and again.
 */
export const readProcFile = (path: string): string | undefined => {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const end = readAll(file);
    return buffer.toString('latin1', 0, end);
  } catch {
    // It ended meanwhile.
    return undefined;
  } finally {
    closeSync(file);
  }
};

/** How many bytes of the buffer the file took. */
const readAll = (file: number): number => {
  for (let end = 0; ;) {
    if (end === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    const read = readSync(file, buffer, end, buffer.length - end, null);
    if (read === 0) return end;
    end += read;
  }
};
