import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { usage } from './exit-codes.js';

/** The text of a file that was named; one that cannot be read is a mistake of the caller. */
export const readText = async (name: string, cwd: string): Promise<string> =>
  readFile(resolve(cwd, name), 'utf8').catch((error: unknown) => {
    throw usage(`${name}: ${fileTrouble(error)}`);
  });

/** A YAML or JSON file as a value; what is wrong with it is a mistake of the caller. */
export const readYaml = async (name: string, cwd: string): Promise<object> => {
  const text = await readText(name, cwd);
  try {
    return parse(text) as object;
  } catch (error) {
    throw usage(`${name}: ${yamlTrouble(error as Error)}`);
  }
};

/** Why a file could not be opened, without the words of the system where there are plainer ones. */
export const fileTrouble = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return WORDS.get(code ?? '') ?? message;
};

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EACCES', 'access is denied'],
  ['EISDIR', 'it is a folder, not a file'],
]);

/** The sentence alone: the parser goes on with a colon and the place in the text. */
export const yamlTrouble = ({ message }: { readonly message: string }): string =>
  (message.split('\n')[0] ?? '').replace(/:\s*$/, '');
