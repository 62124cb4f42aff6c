import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { ExecutionFault, failure } from '../executions/ending.js';

export type FoundCommand =
  | { readonly kind: 'found'; readonly path: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'not-executable'; readonly path: string };

/** Where a command's program is, by the rules of a shell: a name with `/` is a path from `folder`, else `path` is searched. */
export const findCommand = async (name: string, folder: string, path: string): Promise<FoundCommand> => {
  const places = name.includes('/')
    ? [isAbsolute(name) ? name : resolve(folder, name)]
    : path.split(delimiter).map((place) => join(isAbsolute(place) ? place : resolve(folder, place), name));
  let present: string | undefined;
  for (const place of name === '' ? [] : places) {
    const file = await stat(place).catch(() => undefined);
    if (!file?.isFile()) continue;
    present ??= place;
    if (
      await access(place, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return { kind: 'found', path: place };
  }
  return present === undefined ? { kind: 'missing' } : { kind: 'not-executable', path: present };
};

/** The program's absolute path; one that cannot be run is the application's failure. */
export const programOf = async (name: string, folder: string, path: string): Promise<string> => {
  const found = await findCommand(name, folder, path);
  if (found.kind === 'found') return found.path;
  const [code, problem] =
    found.kind === 'missing' ? ['command-not-found', 'not found'] : ['command-not-executable', 'not executable'];
  throw new ExecutionFault(failure('application', code, `${name}: ${problem}`, { path }));
};
