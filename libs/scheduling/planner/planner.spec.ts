import { describe, expect, it } from '@jest/globals';
import { second } from '#testing';
import type { Plan } from './plan.js';
import { DONE, PlannerChain, PlannerFailed } from './planner.js';
import type { Planned, Planner } from './planner.js';
import { LoggingPlanner } from './logging.js';
import { MetricsPlanner } from './metrics.js';

const EMPTY: Plan = {
  jobId: 'j1',
  project: 'demo',
  evaluationId: 'evaluation-1',
  revision: 0n,
  position: 0n,
  assumed: [],
  at: second(0),
  placements: [],
  deferrals: [],
  stops: [],
  outcomes: [],
  followUp: { kind: 'placed' },
};
const STOP = { executionId: 'j1.1', cause: 'node-drained', reason: 'x' } as const;

const scripted = (name: string, heard: string[], answer: () => Planned): Planner => ({
  name,
  process: async () => {
    heard.push(name);
    return answer();
  },
});

const refused = (by: string): Planned => ({ kind: 'refused', by, reason: 'moved on' });

describe('a chain of planners', () => {
  it('P-01 asks each in turn', async () => {
    const heard: string[] = [];
    const chain = new PlannerChain(['first', 'second'].map((name) => scripted(name, heard, () => DONE)));
    expect(await chain.process(EMPTY)).toEqual(DONE);
    expect(heard).toEqual(['first', 'second']);
  });

  it('P-01 stops at the first that refuses, and says which', async () => {
    const heard: string[] = [];
    const chain = new PlannerChain([
      scripted('first', heard, () => DONE),
      scripted('second', heard, () => refused('second')),
      scripted('third', heard, () => DONE),
    ]);
    expect(await chain.process(EMPTY)).toEqual(refused('second'));
    expect(heard).toEqual(['first', 'second']);
  });

  it('P-01 stops at the first that fails, and names it with the cause', async () => {
    const heard: string[] = [];
    const cause = new Error('the store is away');
    const fails = (): Planned => {
      throw cause;
    };
    const chain = new PlannerChain([scripted('first', heard, fails), scripted('second', heard, () => DONE)]);
    const failed = chain.process(EMPTY);
    await expect(failed).rejects.toThrow(PlannerFailed);
    await expect(failed).rejects.toMatchObject({ planner: 'first', cause });
    await expect(failed).rejects.toThrow('planner first failed: the store is away');
    expect(heard).toEqual(['first']);
  });

  it('has begun with the first planner when it returns: nothing else comes in between', () => {
    const heard: string[] = [];
    void new PlannerChain([scripted('first', heard, () => DONE)]).process(EMPTY);
    expect(heard).toEqual(['first']);
  });
});

describe('what watches plans', () => {
  it('P-01 counts and logs what was carried out, and passes over an empty plan', async () => {
    const lines: object[] = [];
    const counts: object[] = [];
    const fail = (): never => {
      throw new Error('not a matter of warnings');
    };
    const log = { debug: (line: object) => void lines.push(line), info: fail, warn: fail, error: fail };
    const watchers = [new LoggingPlanner(log), new MetricsPlanner({ planned: (one) => void counts.push(one) })];
    const chain = new PlannerChain(watchers);
    await chain.process(EMPTY);
    expect([lines, counts]).toEqual([[], []]);
    await chain.process({ ...EMPTY, stops: [STOP] });
    expect(counts).toEqual([{ placed: 0, deferred: 0, stopped: 1 }]);
    expect(lines).toEqual([
      { jobId: 'j1', evaluationId: 'evaluation-1', placed: [], deferred: 0, stopped: ['j1.1'], followUp: 'placed' },
    ]);
  });
});
