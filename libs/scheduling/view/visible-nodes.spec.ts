import { describe, expect, it } from '@jest/globals';
import { World } from '#placement/testing';
import { jobSight, nodeSight } from './visible-nodes.js';
import type { Reader } from './visible-nodes.js';

const world = (): World => {
  const made = new World();
  made.project({ members: ['ana'] });
  made.project({ projectId: 'reef', institution: 'ufrj', members: ['bia'] });
  made.node('usp-1', { owner: 'olga' });
  made.node('ufrj-1', { institution: 'ufrj', owner: 'otto' });
  made.node('ufrj-2', { institution: 'ufrj', owner: 'olga' });
  return made;
};

const seen = (made: World, reader: Reader): string[] =>
  [...made.cluster.nodes.keys()].filter(nodeSight(made.cluster, reader));

describe('which nodes a reader sees by name', () => {
  it.each<[string, Reader, string[]]>([
    ['an operator', { role: 'operator', account: 'op' }, ['usp-1', 'ufrj-1', 'ufrj-2']],
    ['an operator of one institution', { role: 'operator', account: 'op', institution: 'ufrj' }, ['ufrj-1', 'ufrj-2']],
    ['an auditor of one institution', { role: 'auditor', account: 'a', institution: 'usp' }, ['usp-1']],
    ['a member: the nodes of his project’s institution', { role: 'researcher', account: 'ana' }, ['usp-1']],
    ['an owner: his own, wherever', { role: 'researcher', account: 'olga' }, ['usp-1', 'ufrj-2']],
    ['a stranger', { role: 'researcher', account: 'eve' }, []],
    ['a node: itself', { role: 'node', account: 'node:usp-1', nodeId: 'usp-1' }, ['usp-1']],
  ])('%s', (_who, reader, nodes) => {
    expect(seen(world(), reader)).toEqual(nodes);
  });

  it('A-49 A-99 whoever’s job it runs', () => {
    const made = world();
    made.job('j');
    const execution = made.reserve('j', 'ufrj-1');
    const ana: Reader = { role: 'researcher', account: 'ana' };
    expect(seen(made, ana)).toEqual(['usp-1', 'ufrj-1']);
    expect(seen(made, { role: 'researcher', account: 'eve' })).toEqual([]);
    made.onJob('j', {
      type: 'ExecutionCancelled',
      data: { executionId: execution, reason: 'x', at: '2026-01-01T00:00:00.000Z' },
    });
    expect(seen(made, ana)).toEqual(['usp-1']);
  });
});

describe('which jobs a reader sees', () => {
  it.each<[string, Reader, boolean, boolean]>([
    ['an operator', { role: 'operator', account: 'op', institution: 'ufrj' }, true, true],
    ['an auditor', { role: 'auditor', account: 'a' }, true, true],
    ['a member', { role: 'researcher', account: 'ana' }, true, true],
    ['a member of another project', { role: 'researcher', account: 'bia' }, false, false],
    ['the owner of a node', { role: 'researcher', account: 'otto' }, false, false],
  ])('A-99 %s', (_who, reader, present, gone) => {
    const made = world();
    made.job('j');
    const sees = jobSight(made.cluster, reader);
    expect(sees('j')).toBe(present);
    expect(sees('ended', 'demo')).toBe(gone);
    expect(sees('ended')).toBe(reader.role !== 'researcher');
  });
});
