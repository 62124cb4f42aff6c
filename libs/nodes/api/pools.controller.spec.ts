import { describe, expect, it } from '@jest/globals';
import type { CommandBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#platform/http';
import type { ClusterView } from '#scheduling';
import { SchedulingWorld } from '#scheduling/testing';
import { nodeStream } from '../domain/events.js';
import type { ExecuteNode } from '../write/execute-node.js';
import { NodeSight } from './node-sight.js';
import { PoolMembers } from './pool-members.js';
import { PoolsController } from './pools.controller.js';

const OPERATOR: Caller = { role: 'operator', account: 'op' };
/** Owns `n1`, and sees no other. */
const OLGA: Caller = { role: 'researcher', account: 'olga' };

/** The controller over two nodes that are stored in memory, and the headers that it sets. */
const made = async () => {
  const world = await new SchedulingWorld().live();
  await world.node('n1', { cpu: 8 }, { owner: 'olga' });
  await world.node('n2', { cpu: 2 }, { owner: 'otto' });
  const view: ClusterView = world.view;
  const execute = ({ nodeId, command, context }: ExecuteNode) =>
    world.nodes.handle(nodeStream(nodeId), command, context);
  const members = new PoolMembers(view, { execute } as unknown as CommandBus, world.clock);
  const headers = new Map<string, string>();
  const reply = { header: (name: string, value: string) => headers.set(name, value) } as unknown as FastifyReply;
  const controller = new PoolsController(view, members, new NodeSight(view));
  const settled = async <T>(answer: Promise<T>): Promise<T> => {
    const settling = answer.finally(() => undefined);
    settling.catch(() => undefined);
    await world.time.advanceAsync(1);
    return settling;
  };
  const set = (name: string, body: unknown): Promise<unknown> => settled(controller.set(name, body, OPERATOR, reply));
  const remove = (name: string): Promise<unknown> => settled(controller.remove(name, OPERATOR, reply));
  return { controller, headers, set, remove };
};

/** The code of a refusal with its pointers. */
const refusal = async (asked: () => unknown): Promise<readonly string[]> => {
  try {
    await asked();
  } catch (error) {
    const { code, errors } = (error as { problem: { code: string; errors: { pointer: string; code: string }[] } })
      .problem;
    return [code, ...errors.map((one) => `${one.pointer} ${one.code}`)];
  }
  return [];
};

const LAB = { name: 'lab', discipline: 'fifo', nodes: ['n1'], size: 1, waiting: 0, first: null };

describe('pools over REST', () => {
  it('shows one pool as the list does, and says where the change is', async () => {
    const { controller, headers, set, remove } = await made();
    expect(await set('lab', { discipline: 'fifo', nodes: ['n1'] })).toEqual(LAB);
    expect(headers.get('escalon-position')).toMatch(/^\d+$/);
    expect(controller.one('lab', OPERATOR)).toEqual(LAB);
    expect(controller.list(OPERATOR)).toEqual({ items: [LAB], next: null });
    expect(await remove('lab')).toEqual({ ...LAB, nodes: [], size: 0 });
    expect(await refusal(() => controller.one('lab', OPERATOR))).toEqual(['POOL_UNKNOWN']);
    expect(await refusal(() => remove('lab'))).toEqual(['POOL_UNKNOWN']);
  });

  it('shows nobody a pool without a node that he sees', async () => {
    const { controller, set } = await made();
    await set('hers', { discipline: 'backfill', where: 'node.cpu > 4' });
    await set('his', { discipline: 'backfill', nodes: ['n2'] });
    expect(controller.list(OLGA)).toMatchObject({ items: [{ name: 'hers' }] });
    expect(controller.one('hers', OLGA)).toMatchObject({ name: 'hers', nodes: ['n1'] });
    expect(await refusal(() => controller.one('his', OLGA))).toEqual(['POOL_UNKNOWN']);
    for (const name of ['toString', '__proto__', '']) {
      expect(await refusal(() => controller.one(name, OPERATOR))).toEqual(['POOL_UNKNOWN']);
    }
  });

  it.each<[string, string, unknown, readonly string[]]>([
    ['a name that is none', 'a b', { discipline: 'fifo', nodes: ['n1'] }, [' MALFORMED']],
    ['nothing', 'lab', {}, ['/discipline REQUIRED', ' CONFLICT']],
    ['an unknown discipline', 'lab', { discipline: 'lifo', nodes: ['n1'] }, ['/discipline NOT_ALLOWED']],
    ['nodes and a constraint', 'lab', { discipline: 'fifo', nodes: ['n1'], where: 'node.cpu > 1' }, [' CONFLICT']],
    ['neither', 'lab', { discipline: 'fifo' }, [' CONFLICT']],
    [
      'nodes that are not there',
      'lab',
      { discipline: 'fifo', nodes: ['n1', 'n3', 'n4'] },
      ['/nodes/1 NOT_ALLOWED', '/nodes/2 NOT_ALLOWED'],
    ],
    ['a constraint that is none', 'lab', { discipline: 'fifo', where: 'node.cpu >' }, ['/where MALFORMED']],
    ['one that holds nowhere', 'lab', { discipline: 'fifo', where: 'node.cpu > 8' }, ['/where NOT_ALLOWED']],
  ])('refuses %s, and changes nothing', async (_what, name, body, mistakes) => {
    const { controller, headers, set } = await made();
    expect(await refusal(() => set(name, body))).toEqual(['VALIDATION_FAILED', ...mistakes]);
    expect([controller.list(OPERATOR), headers.size]).toEqual([{ items: [], next: null }, 0]);
  });
});
