import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Under jest this file runs from its source, in a bench from dist; the apps are always the built ones. */
const REPOSITORY = ROOT.endsWith('dist') ? dirname(ROOT) : ROOT;
const READY_WITHIN = 200_000;
const KEPT = 200;

/** The folder of the checkout. */
export const repository = REPOSITORY;

/**
 * One of the apps as a process of its own, which says on stdout in one line of JSON that it is ready. Its last words are
 * kept, so that a test that fails can show them.
 */
export class ManagedProcess {
  private child: ChildProcess | undefined;
  private readonly words: string[] = [];
  private ended: Promise<number | string> = Promise.resolve(0);

  constructor(
    private readonly app: string,
    private readonly args: readonly string[],
    private readonly env: Readonly<Record<string, string>> = {},
  ) {}

  get pid(): number {
    if (this.child?.pid === undefined) throw new Error(`${this.app} does not run`);
    return this.child.pid;
  }

  get running(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** What it wrote lately, stdout and stderr together. */
  get output(): string {
    return this.words.join('');
  }

  /** Resolves with the ready line, which must come within so many milliseconds. */
  async start(readyWithin = READY_WITHIN): Promise<Record<string, unknown>> {
    const script = join(REPOSITORY, 'dist', 'apps', this.app, 'main.js');
    const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...this.env };
    const child = spawn(process.execPath, [script, ...this.args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child = child;
    this.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal ?? 'gone')));
    child.stderr.on('data', (chunk: Buffer) => this.keep(chunk.toString()));
    return this.ready(child, readyWithin);
  }

  /** Sends the signal and resolves when the process has ended. */
  async kill(signal: NodeJS.Signals): Promise<number | string> {
    if (this.running) this.child?.kill(signal);
    return this.ended;
  }

  /** For SIGSTOP and SIGCONT: nothing ends. */
  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** An orderly stop. */
  stop(): Promise<number | string> {
    return this.kill('SIGTERM');
  }

  private ready(child: ChildProcess, within: number): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      let line = '';
      const timer = setTimeout(() => fail('was not ready in time'), within);
      const fail = (what: string): void => {
        clearTimeout(timer);
        reject(new Error(`${this.app} ${what}:\n${this.output}`));
      };
      child.once('error', (error) => fail(error.message));
      child.once('exit', (code, signal) => fail(`ended (${String(code ?? signal)})`));
      child.stdout?.on('data', (chunk: Buffer) => {
        this.keep(chunk.toString());
        line += chunk.toString();
        const end = line.indexOf('\n');
        if (end < 0) return;
        clearTimeout(timer);
        resolve(JSON.parse(line.slice(0, end)) as Record<string, unknown>);
        line = '';
      });
    });
  }

  private keep(text: string): void {
    this.words.push(text);
    if (this.words.length > KEPT) this.words.shift();
  }
}
