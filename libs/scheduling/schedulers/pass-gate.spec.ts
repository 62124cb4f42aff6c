import { describe, expect, it } from '@jest/globals';
import { MOST_ASSUMED, PassGate } from './pass-gate.js';

const FEW = MOST_ASSUMED / 2;

/** A gate, and passes that bring so many reservations on their way and end when they are told. */
const made = () => {
  const assumed = new Map<string, string>();
  const gate = new PassGate({ cluster: { assumed } });
  const begun: string[] = [];
  const pass = (name: string, reservations: number) => {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const own = Array.from({ length: reservations }, (_, index) => `${name}.${String(index)}`);
    const over = gate.through(() => {
      begun.push(name);
      for (const id of own) assumed.set(id, 'n1');
      return promise;
    });
    const end = (): void => {
      for (const id of own) assumed.delete(id);
      resolve(undefined);
    };
    return { over, end, fail: () => reject(new Error(name)) };
  };
  return { assumed, begun, pass };
};

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('the gate of passes', () => {
  it('S-06 lets passes begin in the same turn while few reservations are on their way', () => {
    const { begun, pass } = made();
    for (const name of ['a', 'b']) void pass(name, FEW - 1).over;
    void pass('c', FEW).over;
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('S-06 has the next wait for the end of one before it, and each that begins may fill it again', async () => {
    const { begun, pass } = made();
    const first = pass('a', MOST_ASSUMED);
    const [second] = [pass('b', MOST_ASSUMED), pass('c', 1), pass('d', 1)];
    await settle();
    expect(begun).toEqual(['a']);
    first.end();
    await settle();
    expect(begun).toEqual(['a', 'b']);
    second.end();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('waits for nothing that a failed pass left behind', async () => {
    const { assumed, begun, pass } = made();
    const failed = pass('a', MOST_ASSUMED);
    const next = pass('b', 1);
    failed.fail();
    await expect(failed.over).rejects.toThrow('a');
    await settle();
    expect([begun, assumed.size]).toEqual([['a', 'b'], MOST_ASSUMED + 1]);
    next.end();
    await next.over;
  });
});
