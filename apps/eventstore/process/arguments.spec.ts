import { describe, expect, it } from '@jest/globals';
import { parseArguments } from './arguments.js';

describe('the command line', () => {
  it('needs a file and nothing else', () => {
    expect(parseArguments(['--file', 'a.db'])).toEqual({
      file: 'a.db',
      host: '127.0.0.1',
      port: 2113,
      tls: undefined,
      usersFile: undefined,
      allowAnonymous: false,
      maxAppendSize: undefined,
      parentPid: undefined,
      exitWithParent: false,
    });
  });

  it('takes all options', () => {
    const line = '--file a --host ::1 --port 0 --cert c --key k --users u --allow-anonymous --max-append-size 5000';
    expect(parseArguments(`${line} --parent-pid 7 --exit-with-parent`.split(' '))).toEqual({
      file: 'a',
      host: '::1',
      port: 0,
      tls: { certFile: 'c', keyFile: 'k' },
      usersFile: 'u',
      allowAnonymous: true,
      maxAppendSize: 5000,
      parentPid: 7,
      exitWithParent: true,
    });
  });
});
