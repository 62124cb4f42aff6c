import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CommandHandler, START } from '#event-store';
import { collect, uniqueName } from '#event-store/conformance';
import { accept, systemIds } from '#kernel';
import { connect, ServerProcess } from './servers.js';
import type { ConnectedEventStore, StreamDecider } from '#event-store';

/** Counts, and never lets two writers believe that they counted the same number. */
interface Counted {
  readonly type: 'Counted';
  readonly data: { readonly number: number };
}

const counter: StreamDecider<'count', Counted, number> = {
  initialState: () => 0,
  decide: (_, state) => accept({ type: 'Counted', data: { number: state + 1 } }),
  evolve: (_, event) => event.data.number,
};

let server: ServerProcess | undefined;
const clients: ConnectedEventStore[] = [];
beforeAll(async () => {
  server = await ServerProcess.start();
  for (let n = 0; n < 2; n += 1) clients.push(connect(server.url, { timeout: 60_000 }));
});
afterAll(async () => {
  for (const store of clients) await store.close();
  await server?.remove();
});

it('two processes’ handlers on one stream lose no update while the server is killed and comes back', async () => {
  const stream = uniqueName('count');
  const [first] = clients;
  if (!server || !first) throw new Error('nothing to test');
  const handlers = clients.map((store) => new CommandHandler(counter, store, systemIds, { maxConflicts: 1000 }));
  let counted = 0;
  let enough = (): void => undefined;
  const some = new Promise<void>((resolve) => (enough = resolve));
  const event = (): void => {
    counted += 1;
    if (counted === 40) enough();
  };
  const subscription = first.subscribe({ after: START, filter: { streamPrefixes: [stream] } }, { event });
  const callers = handlers.flatMap((handler) =>
    Array.from({ length: 4 }, async () => {
      const mine: number[] = [];
      for (let n = 0; n < 40; n += 1) {
        const handled = await handler.handle(stream, 'count', { actor: 'system:test' });
        if (handled.kind !== 'done') throw new Error(handled.kind);
        expect(handled.revision).toBe(BigInt(handled.state - 1));
        mine.push(handled.state);
      }
      return mine;
    }),
  );
  await some;
  await server.kill();
  await server.start();
  const answered = (await Promise.all(callers)).flat().sort((a, b) => a - b);
  expect(answered).toEqual(Array.from({ length: 320 }, (_, n) => n + 1));
  expect(await collect(first.readStream(stream))).toHaveLength(320);
  await subscription.stop();
});
