import { describe, expect, it } from '@jest/globals';
import { World } from '#placement/testing';
import { second } from '#testing';
import { matchWarning, nodeWarnings } from './node-warnings.js';

const GIB = 1024 ** 3;
const large = { resources: { cpu: 1, memory: 64 * GIB, disk: 0, ioSlots: 0 } };

const twoNodes = (): World => {
  const world = new World();
  for (const id of ['a', 'b']) world.node(id);
  return world;
};

const cordon = (world: World, id: string) =>
  world.onNode(id, { type: 'NodeCordoned', data: { reason: 'disk', at: second(1) } });

describe('what a submission is told of the nodes', () => {
  it('S-11 a job that no enrolled node could ever run is told why, apart from one that only waits', () => {
    const world = twoNodes();
    expect(nodeWarnings(world.request(large), world.cluster, 0)).toEqual([
      'no enrolled node could ever run this: capacity.memory (asked 64 GiB, best here 16 GiB)',
    ]);
    for (const id of ['a', 'b']) cordon(world, id);
    expect(nodeWarnings(world.request(), world.cluster, 0)).toEqual([]);
  });

  it('S-04 S-11 an ops job that no node matches now is told that it will fail', () => {
    const world = twoNodes();
    expect(nodeWarnings(world.request({ type: 'ops' }), world.cluster, 0)).toEqual([]);
    for (const id of ['a', 'b']) cordon(world, id);
    expect(nodeWarnings(world.request({ type: 'ops' }), world.cluster, 0)).toEqual([
      '0 of 2 enrolled nodes match now: an ops job fails when none does (2: node.cordoned)',
    ]);
    expect(nodeWarnings(world.request({ type: 'ops', ...large }), world.cluster, 0)).toHaveLength(2);
    expect(nodeWarnings(new World().request({ type: 'ops' }), new World().cluster, 0)).toEqual([
      '0 of 0 enrolled nodes match now: an ops job fails when none does',
    ]);
  });

  it('S-05 S-11 a daemon that no node matches now is told that it waits', () => {
    const world = twoNodes();
    for (const id of ['a', 'b']) cordon(world, id);
    expect(nodeWarnings(world.request({ type: 'daemon' }), world.cluster, 0)).toEqual([
      '0 of 2 enrolled nodes match now: the daemon waits for some (2: node.cordoned)',
    ]);
  });

  it('S-04 a dry run tells on how many nodes it would run, and why not on the others', () => {
    const world = twoNodes();
    cordon(world, 'a');
    expect(matchWarning(world.request({ type: 'ops' }), world.cluster, 0)).toBe(
      '1 of 2 enrolled nodes match now, and the ops job runs on each (1: node.cordoned)',
    );
  });
});
