import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface Arguments {
  readonly file: string;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly usersFile: string | undefined;
  readonly allowAnonymous: boolean;
  readonly maxAppendSize: number | undefined;
  readonly parentPid: number | undefined;
  readonly exitWithParent: boolean;
}

export const USAGE = `usage: eventstore --file PATH [--host 127.0.0.1] [--port 2113] [--cert FILE --key FILE]
  [--users FILE] [--allow-anonymous] [--max-append-size BYTES] [--parent-pid PID] [--exit-with-parent]`;

const DEFAULT_PORT = 2113;

/** @throws Error whose message names the wrong option. */
export const parseArguments = (args: readonly string[]): Arguments => {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      file: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: String(DEFAULT_PORT) },
      cert: { type: 'string' },
      key: { type: 'string' },
      users: { type: 'string' },
      'allow-anonymous': { type: 'boolean', default: false },
      'max-append-size': { type: 'string' },
      'parent-pid': { type: 'string' },
      'exit-with-parent': { type: 'boolean', default: false },
    },
  });
  if (!values.file) throw new Error('--file is missing');
  if ((values.cert === undefined) !== (values.key === undefined)) throw new Error('--cert and --key go together');
  return {
    file: values.file,
    host: values.host,
    port: wholeNumber('--port', values.port, 0, 65_535),
    tls: values.cert && values.key ? { certFile: values.cert, keyFile: values.key } : undefined,
    usersFile: values.users,
    allowAnonymous: values['allow-anonymous'],
    maxAppendSize: optional('--max-append-size', values['max-append-size'], 1, 16 * 1024 * 1024),
    parentPid: optional('--parent-pid', values['parent-pid'], 1, 2 ** 31 - 1),
    exitWithParent: values['exit-with-parent'],
  };
};

const optional = (name: string, text: string | undefined, low: number, high: number): number | undefined =>
  text === undefined ? undefined : wholeNumber(name, text, low, high);

const wholeNumber = (name: string, text: string, low: number, high: number): number => {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!(value >= low && value <= high)) throw new Error(`${name} must be a whole number from ${low} to ${high}`);
  return value;
};
