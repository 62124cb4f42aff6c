import { describe, expect, it } from '@jest/globals';
import { chooseTaskUser } from './task-user.js';

describe('whom tasks run as when the configuration names nobody', () => {
  const warningsAs = async (isRoot: boolean): Promise<unknown[]> => {
    const warnings: unknown[] = [];
    const log = { warn: (_: object, text?: string) => void warnings.push(text) };
    expect(await chooseTaskUser(undefined, '/nowhere', log, isRoot)).toBeUndefined();
    return warnings;
  };

  it('is root where the agent is, which it warns of', async () =>
    expect(await warningsAs(true)).toEqual([
      'tasks run as root: they can read the node’s token and all else on this machine',
    ]));

  it('is the agent’s own user elsewhere, without a word', async () => expect(await warningsAs(false)).toEqual([]));
});
