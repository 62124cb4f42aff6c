import { DISCIPLINES, LANES } from '../executions/lanes.js';
import type { LaneChoice, LaneChoices, LaneName } from '../executions/lanes.js';

/** What the flags say of lanes, in place of what `file` says of the same, and every mistake in them. */
export const laneFlags = (
  flags: readonly string[],
  file: LaneChoices = {},
): { readonly lanes: LaneChoices; readonly mistakes: readonly string[] } => {
  const chosen = new Map<LaneName, LaneChoice>();
  const mistakes = flags.flatMap((flag) => {
    const read = readFlag(flag);
    if (!read) return [`lane ${flag}: it is ${FORM}`];
    if (chosen.has(read.name)) return [`lane ${flag}: ${read.name} was given already`];
    chosen.set(read.name, { ...file[read.name], ...read.choice });
    return [];
  });
  return { lanes: { ...file, ...Object.fromEntries(chosen) }, mistakes };
};

const FORM = `one of ${LANES.join(', ')}, then = and one of ${DISCIPLINES.join(', ')}, then if wanted : and how many at once, as gpu=fifo:2`;

const readFlag = (flag: string): { readonly name: LaneName; readonly choice: LaneChoice } | undefined => {
  const [, given, how, workers] = /^(\w+)=(\w+)(?::([1-9]\d{0,8}))?$/.exec(flag) ?? [];
  const name = LANES.find((one) => one === given);
  const discipline = DISCIPLINES.find((one) => one === how);
  if (!name || !discipline) return undefined;
  return { name, choice: { discipline, ...(workers !== undefined && { workers: Number(workers) }) } };
};
