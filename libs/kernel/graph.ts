/**
 * What comes after what. Those of one wave need nothing but what is in the waves before it; `cycle` is one of the cycles that
 * keep the rest out of any, the first of it again at its end.
 */
export interface Waves<Node> {
  readonly waves: readonly (readonly Node[])[];
  readonly cycle: readonly Node[] | undefined;
}

/** Orders nodes by what each needs; a need that is no node itself is taken to be met. Takes as long as there are needs. */
export const wavesOf = <Node>(needs: ReadonlyMap<Node, Iterable<Node>>): Waves<Node> => {
  const open = new Map([...needs].map(([node, all]) => [node, new Set([...all].filter((need) => needs.has(need)))]));
  const dependents = new Map<Node, Node[]>();
  for (const [node, all] of open) for (const need of all) listUnder(dependents, need).push(node);
  const waves: Node[][] = [];
  let wave = [...open.keys()].filter((node) => open.get(node)?.size === 0);
  while (wave.length > 0) {
    waves.push(wave);
    for (const node of wave) open.delete(node);
    const next: Node[] = [];
    for (const node of wave)
      for (const dependent of dependents.get(node) ?? []) {
        const all = open.get(dependent);
        if (all?.delete(node) && all.size === 0) next.push(dependent);
      }
    wave = next;
  }
  return { waves, cycle: cycleIn(open) };
};

const listUnder = <Node>(lists: Map<Node, Node[]>, key: Node): Node[] => {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
};

/** Each of them needs another of them, so whoever goes from need to need comes round. */
const cycleIn = <Node>(open: ReadonlyMap<Node, ReadonlySet<Node>>): readonly Node[] | undefined => {
  const path = new Map<Node, number>();
  const [start] = open.keys();
  let at = start;
  while (at !== undefined && !path.has(at)) {
    path.set(at, path.size);
    const [need] = open.get(at) ?? [];
    at = need;
  }
  if (at === undefined) return undefined;
  return [...[...path.keys()].slice(path.get(at)), at];
};
