import { describe, expect, it } from '@jest/globals';
import { MemoryEventStore } from '#event-store';
import type { EventStore } from '#event-store';
import { FakeTime } from '#kernel';
import { DecisionAudit } from './decision-audit.js';

const reader = { progress: () => Promise.resolve() };
const nothing = (): undefined => undefined;

describe('deriving decisions beside the work of the process', () => {
  it('A-21 is done for one request at a time: a second one is told to come back', async () => {
    let open: () => void = nothing;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const store = Object.assign(new MemoryEventStore(), {
      async *readAll() {
        await gate;
        yield* [];
      },
    }) as EventStore;
    const time = new FakeTime();
    const audit = new DecisionAudit(store, time, time);
    const first = audit.run({}, nothing, reader);
    expect(() => audit.checkFree()).toThrow('one request at a time');
    await expect(audit.run({}, nothing, reader)).rejects.toMatchObject({
      problem: { code: 'AUDIT_BUSY', status: 429 },
    });
    open();
    await first;
    await audit.run({}, nothing, reader);
  });
});
