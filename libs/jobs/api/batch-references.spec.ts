import { describe, expect, it } from '@jest/globals';
import { resolveReferences } from './batch-references.js';

const after = (name: string, ...parents: readonly string[]): object => ({
  name,
  dependsOn: parents.map((job) => ({ job })),
});
const resolve = (...items: readonly unknown[]) =>
  resolveReferences(
    items,
    items.map((_, index) => `id-${String(index)}`),
  );

describe('G-55 jobs that are submitted together', () => {
  it('name each other in any order, and are brought with what is waited for first', () => {
    const { items, waves, mistakes } = resolve(
      after('d', '#b', '#c'),
      after('b', '#a'),
      after('c', '#a', 'x'),
      after('a'),
    );
    expect([waves, mistakes]).toEqual([[[3], [1, 2], [0]], []]);
    expect(items[0]).toEqual({ name: 'd', dependsOn: [{ job: 'id-1' }, { job: 'id-2' }] });
    expect(items[2]).toEqual({ name: 'c', dependsOn: [{ job: 'id-3' }, { job: 'x' }] });
  });

  it('wait for the completion of what leaves their inputs, unless they say for what of it', () => {
    const inputs = [
      { source: 'job:#a/out/x.csv', path: 'x' },
      { source: 'job:#a/y', path: 'y' },
      { source: 'job:other/z', path: 'z' },
    ];
    const read = inputs.map((input) => ({ ...input, source: input.source.replace('#a', 'id-0') }));
    const { items, waves } = resolve(
      { name: 'a' },
      { name: 'b', inputs },
      { name: 'c', inputs, dependsOn: [{ job: '#a', when: 'terminal' }] },
    );
    expect(waves).toEqual([[0], [1, 2]]);
    expect(items[1]).toEqual({ name: 'b', inputs: read, dependsOn: [{ job: 'id-0', when: 'completed' }] });
    expect(items[2]).toEqual({ name: 'c', inputs: read, dependsOn: [{ job: 'id-0', when: 'terminal' }] });
  });

  it('are left as they are when none names another, whatever they are', () => {
    const items = [{ name: 'a' }, { name: 'a', dependsOn: [{ job: 'x' }, 7], inputs: 'none' }, null, 'text'];
    expect(resolve(...items)).toMatchObject({ items, waves: undefined, mistakes: [] });
  });

  it('are refused with every name that is unknown or not the only one, and a cycle by its names', () => {
    const twice = [{ name: 'twin' }, { name: 'twin' }];
    const { mistakes } = resolve(
      ...twice,
      after('c', '#twin', '#nobody'),
      { name: 'd', inputs: [{ source: 'job:#gone/x', path: 'x' }] },
      after('e', '#g'),
      after('f', '#e'),
      after('g', '#f'),
      after('self', '#self'),
    );
    expect(mistakes.map(({ pointer, code, message }) => `${pointer} ${code} ${message}`)).toEqual([
      '/items/2/dependsOn/0/job AMBIGUOUS names #twin, and 2 jobs have this name',
      '/items/2/dependsOn/1/job UNKNOWN_JOB names #nobody, and no job of this name is submitted with it',
      '/items/3/inputs/0/source UNKNOWN_JOB names #gone, and no job of this name is submitted with it',
      '/items/5/dependsOn/0/job CYCLE closes a cycle: #e waits for #g waits for #f waits for #e',
    ]);
    expect(resolve(after('self', '#self')).mistakes).toMatchObject([
      { pointer: '/items/0/dependsOn/0/job', message: 'closes a cycle: #self waits for #self' },
    ]);
  });

  it('may be a thousand, each waiting for the one before it', () => {
    const chain = Array.from({ length: 1000 }, (_, index) => after(`j${index}`, ...(index ? [`#j${index - 1}`] : [])));
    expect(resolve(...chain.reverse()).waves).toHaveLength(1000);
  });
});
