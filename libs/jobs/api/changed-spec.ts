import { isRecord } from '#platform/validation';

/**
 * A job file with changes laid over it, as RFC 7396 has it: a group of names is changed name by name, `null` takes a name
 * out (so that its default counts), anything else takes the place of what was there.
 */
export const changedSpec = (spec: object, changes: object): Readonly<Record<string, unknown>> => {
  const changed = new Map<string, unknown>(Object.entries(spec));
  for (const [name, change] of Object.entries(changes)) {
    const before = changed.get(name);
    if (change === null) changed.delete(name);
    else changed.set(name, isRecord(change) ? changedSpec(isRecord(before) ? before : {}, change) : change);
  }
  return Object.fromEntries(changed);
};
