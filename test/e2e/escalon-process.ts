import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ChildProcess } from 'node:child_process';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** `bin/escalon.js` as a process of its own. */
export interface EscalonProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Resolves with the first line on stdout, rejects when the process ends without one. */
  readonly firstLine: Promise<string>;
  readonly ended: Promise<Ended>;
}

export const startEscalon = (args: readonly string[], env: Readonly<Record<string, string>> = {}): EscalonProcess => {
  const { ESDB_URL: _events, DATABASE_URL: _database, ESCALON_URL: _url, ESCALON_TOKEN: _token, ...rest } = process.env;
  const child = spawn(process.execPath, ['bin/escalon.js', ...args], { env: { ...rest, ...env } });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, out, err }));
  });
  const firstLine = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    void ended.then((end) => reject(new Error(`ended before its first line: ${JSON.stringify(end)}`)));
  });
  firstLine.catch(() => undefined);
  return { child, pid: child.pid!, firstLine, ended };
};

export const runEscalon = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  startEscalon(args, env).ended;

/** The processes of our own apps below one: their pids by the app's name. Linux. */
export const appsBelow = (parent: number): Map<string, number> => {
  const apps = new Map<string, number>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const app = /dist\/apps\/([a-z]+)\/main\.js/.exec(read(`/proc/${pid}/cmdline`))?.[1];
    if (app !== undefined && parentOf(pid) === parent) apps.set(app, Number(pid));
  }
  return apps;
};

const parentOf = (pid: string): number => Number(/\) \S (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1]);

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

/** A zombie has ended too: nobody has asked for its exit code yet. */
export const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`) && !/\) Z /.test(read(`/proc/${pid}/stat`));

/** Something hangs: no machine is so slow. */
const HANGS = 200_000;

/** Looks until the condition holds, and says what did not when it hangs. */
export const eventually = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  const end = Date.now() + HANGS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within ${HANGS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
