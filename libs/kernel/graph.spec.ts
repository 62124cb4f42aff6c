import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { wavesOf } from './graph.js';

const graphOf = (needs: Readonly<Record<string, readonly string[]>>) => new Map(Object.entries(needs));

describe('the waves of a graph', () => {
  it('bring what is needed before what needs it, and pass over needs that are no nodes', () => {
    const diamond = graphOf({ d: ['b', 'c'], b: ['a'], c: ['a', 'a'], a: ['elsewhere'], e: [] });
    expect(wavesOf(diamond)).toEqual({ waves: [['a', 'e'], ['b', 'c'], ['d']], cycle: undefined });
  });

  it('leave out what needs itself in the end, with one such cycle', () => {
    const graph = graphOf({ a: [], b: ['a', 'd'], c: ['b'], d: ['c'], e: ['d'], f: ['f'] });
    const { waves, cycle } = wavesOf(graph);
    expect(waves).toEqual([['a']]);
    expect(cycle).toEqual(['b', 'd', 'c', 'b']);
    expect(wavesOf(graphOf({ f: ['f'] })).cycle).toEqual(['f', 'f']);
  });

  it('hold every node of a graph without a cycle, each after all that it needs', () => {
    const graphs = fc.array(fc.array(fc.nat(20)), { maxLength: 20 });
    fc.assert(
      fc.property(graphs, (lists) => {
        const needs = new Map(lists.map((list, node) => [node, list.filter((need) => need < node)]));
        const { waves, cycle } = wavesOf(needs);
        const waveOf = new Map(waves.flatMap((wave, index) => wave.map((node) => [node, index] as const)));
        expect([cycle, waveOf.size]).toEqual([undefined, needs.size]);
        for (const [node, list] of needs)
          for (const need of list) expect(waveOf.get(need)!).toBeLessThan(waveOf.get(node)!);
      }),
    );
  });
});
