import type { AppendResult, ConnectedEventStore, ExpectedRevision, NewEvent, Subscription } from '#event-store';
import type { Metrics } from './metrics.js';

/** The store, with the time of its appends, their conflicts and the subscriptions to it counted. */
export const measuredStore = (store: ConnectedEventStore, metrics: Metrics): ConnectedEventStore => ({
  append: async (stream, events, expected) => append(store, metrics, stream, events, expected),
  readStream: (stream, options) => store.readStream(stream, options),
  readStreamBackwards: (stream, options) => store.readStreamBackwards(stream, options),
  readAll: (options) => store.readAll(options),
  subscribe: (options, subscriber) => counted(store.subscribe(options, subscriber), metrics),
  head: () => store.head(),
  close: () => store.close(),
  status: () => store.status(),
});

/** An append that fails has no outcome, and its time tells of a timeout: it is not counted. */
const append = async (
  store: ConnectedEventStore,
  metrics: Metrics,
  stream: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
): Promise<AppendResult> => {
  const kind = stream.slice(0, Math.max(0, stream.indexOf('-')));
  const observe = metrics.appendSeconds.startTimer({ stream: kind });
  const result = await store.append(stream, events, expected);
  observe();
  if (result.kind === 'conflict') metrics.conflicts.inc({ stream: kind });
  return result;
};

const counted = (subscription: Subscription, metrics: Metrics): Subscription => {
  metrics.subscriptions.inc({ kind: 'store' });
  let open = true;
  return {
    stop: async () => {
      if (open) metrics.subscriptions.dec({ kind: 'store' });
      open = false;
      await subscription.stop();
    },
  };
};
