import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Answers the enrolment token of the environment, and sees to it that no environment shows it: not the one that children get,
 * and not `/proc/PID/environ`, which shows to every process of the same user, tasks too, what this one was started with,
 * whatever it deleted since. So where the system can (`execve`), this program takes its own place again without the token, which
 * waits meanwhile in a file that is read once.
 */
export const shedToken = (): string | undefined => {
  const place = process.env['ESCALON_TOKEN_ONCE'];
  if (place !== undefined) {
    const token = readFileSync(place, 'utf8');
    rmSync(dirname(place), { recursive: true, force: true });
    delete process.env['ESCALON_TOKEN_ONCE'];
    return token;
  }
  const { ESCALON_TOKEN: token, ...rest } = process.env;
  delete process.env['ESCALON_TOKEN'];
  if (token !== undefined && token !== '' && process.platform === 'linux' && process.execve) {
    const file = join(mkdtempSync(join(tmpdir(), 'escalon-token-')), 'token');
    writeFileSync(file, token, { mode: 0o600 });
    const environment = Object.fromEntries(Object.entries({ ...rest, ESCALON_TOKEN_ONCE: file }).filter(isText));
    process.execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], environment);
  }
  return token;
};

const isText = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined;
