import type { Decision, PlaceInLine } from '../../domain/decision.js';

/** How the nodes of an answer are named for its reader: by name where he sees them, else as one of another institution. */
export class Naming {
  private readonly others = new Map<string, string>();

  constructor(private readonly seen: (nodeId: string) => boolean) {}

  sees(nodeId: string): boolean {
    return this.seen(nodeId);
  }

  /** The same node is always called the same within an answer. */
  name(nodeId: string): string {
    if (this.seen(nodeId)) return nodeId;
    const known = this.others.get(nodeId) ?? `another institution's node ${String(this.others.size + 1)}`;
    this.others.set(nodeId, known);
    return known;
  }

  /** How many nodes were not named so far. */
  get withheld(): number {
    return this.others.size;
  }
}

/** A decision as its reader gets it; `withheld` counts the nodes in it that are not named. */
export type ReadDecision = Decision & { readonly withheld?: number };

/** Takes the names of the nodes out that the reader does not see. Scores and factors stay: they are why. */
export const decisionFor = <Made extends Decision>(decision: Made, naming: Naming): Made & { withheld?: number } => {
  const { ranking, lines, target, winner, runnerUp } = decision;
  const ranked = ranking.map((one) => ({ ...one, nodeId: naming.name(one.nodeId) }));
  const named = {
    ...decision,
    ranking: ranked,
    ...(lines !== undefined && { lines: lines.map((line) => placeFor(line, naming)) }),
    ...(target !== undefined && { target: naming.name(target) }),
    ...(winner !== undefined && { winner: naming.name(winner) }),
    ...(runnerUp !== undefined && { runnerUp: naming.name(runnerUp) }),
  };
  return naming.withheld === 0 ? named : { ...named, withheld: naming.withheld };
};

const placeFor = ({ hold, ...line }: PlaceInLine, naming: Naming): PlaceInLine =>
  hold ? { ...line, hold: { ...hold, nodeId: naming.name(hold.nodeId) } } : line;

/** An event or movement of a job as its reader gets it: what decisions say of nodes obeys the same rule. */
export const dataFor = (type: string, data: object, naming: Naming): object => {
  if (type !== 'PlacementDecided') return data;
  const { ranking, ...decision } = data as Partial<Decision>;
  const named = decisionFor({ ...decision, ranking: ranking ?? [] } as unknown as Decision, naming);
  if (ranking) return named;
  const { ranking: _none, ...movement } = named;
  return movement;
};

/** Said under an explanation that leaves names out. */
export const withheldLine = ({ withheld }: Naming): string[] => {
  if (withheld === 0) return [];
  return [
    withheld === 1
      ? '1 node of another institution is not named here.'
      : `${String(withheld)} nodes of another institution are not named here.`,
  ];
};
