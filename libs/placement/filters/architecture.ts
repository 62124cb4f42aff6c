import type { Demand } from '../demand.js';
import { satisfies } from '../requirements/constraint.js';
import type { Constraint } from '../requirements/constraint.js';
import type { ClusterNode } from '../cluster/state.js';
import { check, must, NEVER } from './check.js';
import type { Check } from './check.js';

/** What kind of machine: its architecture (aliases folded on both sides), and the job's constraints on its attributes. */
export const architectureChecks = ({ architectures, constraints }: Demand): Check[] => [
  ...(architectures.size > 0 ? [architecture(architectures)] : []),
  ...constraints.map(({ text, constraint }) => constraintCheck(text, constraint)),
];

const architecture = (accepted: ReadonlySet<string>): Check =>
  check(
    'architecture',
    [...accepted].join(' or '),
    (node) => must(accepted.has(node.facts.architecture)),
    (node) => node.facts.architecture,
  );

/** A text that does not parse was refused at submission; should one get here, nothing satisfies it. */
const constraintCheck = (text: string, constraint: Constraint | undefined): Check => {
  if (constraint === undefined) return check('constraint', text, () => NEVER);
  return check(
    'constraint',
    text,
    (node) => must(satisfies(constraint, node.facts.attributes)),
    (node) => attributeOf(node, constraint),
  );
};

/** Which node it is and whose: no other one's comes nearer, and it is not for every reader of a decision. */
const IDENTITY: ReadonlySet<string> = new Set(['node.id', 'node.name', 'node.owner']);

const attributeOf = (node: ClusterNode, { key }: Constraint): string | undefined =>
  IDENTITY.has(key) ? undefined : (node.facts.attributes.get(key) ?? 'not set');
