import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { PacedWriter } from './paced-writer.js';

/** A call whose caller reads only when told to. */
class Stalled extends EventEmitter {
  readonly written: Buffer[][] = [];
  readonly sent: (() => void)[] = [];
  ended = false;

  write(messages: readonly Buffer[], done: () => void): void {
    this.written.push([...messages]);
    this.sent.push(done);
  }

  end(): void {
    this.ended = true;
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a paced writer', () => {
  it('writes what one turn brings in one list, in order', async () => {
    const stream = new Stalled();
    const out = new PacedWriter(stream);
    for (const text of ['a', 'b', 'c']) out.write(Buffer.from(text));
    expect(stream.written).toEqual([]);
    await settled();
    out.write(Buffer.from('d'));
    out.end();
    expect(stream.written.map((list) => list.join(''))).toEqual(['abc', 'd']);
    expect(stream.ended).toBe(true);
  });

  it.each([
    ['messages', 513, 1, 256],
    ['bytes', 4, 300_000, 1],
  ])('is congested by too many %s until half of them have left', async (_what, count, size, left) => {
    const stream = new Stalled();
    const out = new PacedWriter(stream);
    for (let n = 0; n < count; n += 1) {
      out.write(Buffer.alloc(size));
      await settled();
    }
    expect(out.congested).toBe(true);
    const waiting: number[] = [];
    void out.ready().then(() => waiting.push(stream.sent.length));
    while (stream.sent.length > 0) {
      stream.sent.shift()?.();
      await settled();
    }
    expect(waiting).toEqual([left]);
  });

  it.each(['cancelled', 'close', 'error'] as const)('lets go of everyone on %s and writes no more', async (event) => {
    const stream = new Stalled();
    const out = new PacedWriter(stream);
    const ends: string[] = [];
    out.onEnd(() => ends.push('early'));
    for (let n = 0; n < 600; n += 1) out.write(Buffer.from('x'));
    const ready = out.ready();
    stream.emit(event, new Error('gone'));
    await ready;
    out.onEnd(() => ends.push('late'));
    out.write(Buffer.from('y'));
    out.end();
    await settled();
    expect({ ended: out.ended, ends, written: stream.written.length }).toEqual({
      ended: true,
      ends: ['early', 'late'],
      written: 0,
    });
  });
});
