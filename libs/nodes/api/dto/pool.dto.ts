import {
  choice,
  fault,
  line,
  list,
  mapChecked,
  NO_FAULTS,
  Optional,
  Required,
  text,
  validateInput,
} from '#platform/validation';
import type { Checked, Rule } from '#platform/validation';
import type { Discipline } from '../../domain/pool.js';

/* What operators say of a pool. */

const DISCIPLINES: readonly Discipline[] = ['fifo', 'priority', 'backfill'];

export class PoolDto {
  @Required(choice(DISCIPLINES))
  discipline!: Discipline;

  @Optional(list(line(), { min: 1, max: 10_000, unique: (name) => name }))
  nodes?: readonly string[];

  @Optional(text({ max: 1024 }))
  where?: string;
}

/** Which nodes: by name, or those on whose attributes the constraint holds now. */
export type PoolRequest = { readonly discipline: Discipline } & (
  { readonly nodes: readonly string[] } | { readonly where: string }
);

/** Names say which nodes, or a constraint does. */
const namesNodes: Rule = (value) => {
  const { nodes, where } = value as PoolDto;
  return (nodes === undefined) === (where === undefined)
    ? fault('CONFLICT', 'must say which nodes by exactly one of `nodes` and `where`')
    : NO_FAULTS;
};

/** Exactly one of the two must say which nodes. */
export const parsePool = (input: unknown): Checked<PoolRequest> =>
  mapChecked(validateInput(PoolDto, input, undefined, [namesNodes]), ({ discipline, nodes, where }) =>
    nodes === undefined ? { discipline, where: where ?? '' } : { discipline, nodes: [...nodes] },
  );
