import { usage } from './exit-codes.js';
import type { Command } from 'commander';

/**
 * Refuses what was given but is empty, as an unset variable of a shell makes it: an empty id or filter would ask for something
 * else than was meant. Names every one.
 */
export const refuseEmpty = (command: Command): void => {
  const ids = command.registeredArguments.flatMap((argument, index) =>
    [command.processedArgs[index] as unknown].flat().some(isEmpty) ? [`<${argument.name()}>`] : [],
  );
  const options = [command, ...ancestors(command)].flatMap((at) =>
    at.options.filter((option) => isEmpty(at.getOptionValue(option.attributeName()))).map(({ long }) => long ?? ''),
  );
  const empty = [...ids, ...options].map((name) => `error: ${name} must not be empty`);
  if (empty.length > 0) throw usage(empty.join('\n'));
};

const isEmpty = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

function* ancestors({ parent }: Command): Generator<Command> {
  if (!parent) return;
  yield parent;
  yield* ancestors(parent);
}
