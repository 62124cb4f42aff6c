import { describe, expect, it } from '@jest/globals';
import { aDecision } from '#testing';
import { explainDecision } from '#placement';
import type { RankedNode } from '../../domain/decision.js';
import { Naming, dataFor, decisionFor, withheldLine } from './naming.js';

const factor = { raw: 1, value: 1, weight: 20 };
const factors = { resources: factor, reliability: factor, availability: factor, queue: factor, cost: factor };
const ranked = (nodeId: string, score: number): RankedNode => ({ nodeId, score, factors });

const decision = aDecision({
  eligible: 3,
  considered: 3,
  ranking: [ranked('mine', 0.9), ranked('theirs-1', 0.8), ranked('theirs-2', 0.7)],
  winner: 'mine',
  runnerUp: 'theirs-1',
  margin: 0.1,
});

const mine = (): Naming => new Naming((nodeId) => nodeId === 'mine');

describe('a decision by reader', () => {
  it('A-49 A-99 names the node that runs the job, and counts those that are not for the reader', () => {
    const read = decisionFor(decision, mine());
    expect(read).toMatchObject({ winner: 'mine', runnerUp: "another institution's node 1", withheld: 2 });
    expect(read.ranking.map(({ nodeId }) => nodeId)).toEqual([
      'mine',
      "another institution's node 1",
      "another institution's node 2",
    ]);
  });

  it('never says the names of others, in no form', () => {
    const naming = mine();
    const told = [
      decisionFor(decision, naming),
      explainDecision(decisionFor(decision, naming)),
      dataFor('PlacementDecided', decision, naming),
      dataFor('PlacementDecided', { number: 1, outcome: 'placed', winner: 'mine', runnerUp: 'theirs-1' }, naming),
      withheldLine(naming),
    ];
    expect(JSON.stringify(told)).not.toContain('theirs');
    expect(withheldLine(naming)).toEqual(['2 nodes of another institution are not named here.']);
  });

  it('is as it was recorded for whoever sees every node', () => {
    expect(decisionFor(decision, new Naming(() => true))).toEqual(decision);
    expect(dataFor('PlacementDecided', decision, new Naming(() => true))).toEqual(decision);
    const movement = { number: 1, outcome: 'deferred' };
    expect(dataFor('PlacementDecided', movement, mine())).toEqual(movement);
    expect(dataFor('ExecutionReserved', { nodeId: 'mine' }, mine())).toEqual({ nodeId: 'mine' });
  });
});
