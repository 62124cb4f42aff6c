import { readFile, readdir, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { PortTaken } from './faults.js';
import { commandLine } from './postmaster.js';

/** A port on 127.0.0.1 that was free a moment ago. */
export const freePort = (): Promise<number> => probe(0);

/** Resolves when `port` is free; rejects with `PortTaken`, which names the holder, when it is not. */
export const requirePort = async (port: number): Promise<void> => {
  try {
    await probe(port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new PortTaken(port, await holderOf(port));
  }
};

const probe = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port));
    });
  });

/** `<command> (pid N)` of the process that listens on the port; undefined where the system does not tell. */
const holderOf = async (port: number): Promise<string | undefined> => {
  const inode = await listeningSocket(port);
  if (inode === undefined) return undefined;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    if (await holds(pid, inode)) return `${(await commandLine(Number(pid))).trim().slice(0, 120)} (pid ${pid})`;
  }
  return undefined;
};

/** The inode of the socket, from the kernel's table: local address in the second column, state 0A is LISTEN. */
const listeningSocket = async (port: number): Promise<string | undefined> => {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const lines = (await readFile(table, 'utf8').catch(() => '')).split('\n').slice(1);
    const row = lines.map((line) => line.trim().split(/\s+/)).find((columns) => isListener(columns, suffix));
    if (row) return row[9];
  }
  return undefined;
};

const isListener = (columns: readonly string[], suffix: string): boolean =>
  columns[3] === '0A' && columns[1]?.endsWith(suffix) === true;

const holds = async (pid: string, inode: string): Promise<boolean> => {
  const folder = `/proc/${pid}/fd`;
  const entries = await readdir(folder).catch(() => []);
  for (const entry of entries) {
    if ((await readlink(`${folder}/${entry}`).catch(() => '')) === `socket:[${inode}]`) return true;
  }
  return false;
};
