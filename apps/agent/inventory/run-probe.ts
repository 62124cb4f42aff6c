import { execFile } from 'node:child_process';
import { searchPath } from '../runner/environment.js';

/** What a probe printed, on both streams; undefined when it failed, is not there, or took more than `timeout` milliseconds. */
export const runProbe = ([program, ...args]: readonly string[], timeout: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    if (program === undefined) return resolve(undefined);
    const env = { PATH: searchPath(), HOME: process.env['HOME'] ?? '/', LANG: 'C', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
    const options = { timeout, killSignal: 'SIGKILL' as const, maxBuffer: 16 * 2 ** 20, env };
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve(error ? undefined : stdout + stderr);
    });
  });
