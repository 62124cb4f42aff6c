import { unreachable } from '#kernel';
import type { OthersChange, RequirementChange, SmallestChange } from './smallest-change.js';

/** The smallest change as a sentence. */
export const changeInWords = (smallest: SmallestChange): string => {
  switch (smallest.kind) {
    case 'nothing':
      return `As it is, ${smallest.nodeId} could take it now: the next look places it.`;
    case 'job':
      return `Smallest change that would start it now: ${smallest.changes.map(changed).join(', and ')}; it would go to ${smallest.nodeId}.`;
    case 'others':
      return `No change of one or two requirements of the job would start it now. ${othersInWords(smallest.reasons, smallest.nodes)}`;
    case 'no-nodes':
      return 'No change of the job would start it: no node has enrolled yet.';
    default:
      return unreachable(smallest);
  }
};

const changed = ({ requirement, from, to }: RequirementChange): string => `${requirement} ${from} → ${to}`;

const SIDES = {
  job: 'the node does not have what the job needs',
  owner: "the owner's side",
  system: "the system's side",
};

const othersInWords = (reasons: readonly OthersChange[], nodes: number): string => {
  const causes = reasons.map(
    ({ side, description, lifted }) => `${description} (${SIDES[side]}; passes when ${lifted})`,
  );
  return `Nearest ${nodes === 1 ? 'is 1 node' : `are ${nodes} nodes`}: ${causes.join('; ')}.`;
};
