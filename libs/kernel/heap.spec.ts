import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Heap } from './heap.js';

describe('Heap', () => {
  it('gives the least first, whatever goes in and out in between', () => {
    const steps = fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant('pop' as const)), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (all) => {
        const heap = new Heap<number>((left, right) => left < right);
        const model: number[] = [];
        for (const step of all) {
          if (step === 'pop') expect(heap.pop()).toBe(model.shift());
          else {
            heap.push(step);
            model.push(step);
            model.sort((left, right) => left - right);
          }
          expect([heap.size, heap.peek()]).toEqual([model.length, model[0]]);
        }
      }),
    );
  });
});
