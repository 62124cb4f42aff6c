import { describe, expect, it } from '@jest/globals';
import { countingIds } from '#kernel';
import { World } from '#placement/testing';
import { BrokerWorld, START } from '../testing/broker-world.js';
import { LookRequests } from './look-requests.js';

describe('what asks for looks at jobs', () => {
  it('S-06 a look is as old as its job, a further one as the end of the one before it; a conflict changes neither', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    const log = new World();
    log.job('huge');
    const looks = new LookRequests({ view: log, broker, clock: time, ids: countingIds() });
    looks.ask('huge', 'JobSubmitted');
    looks.flush();
    const ages: number[] = [];
    for (const conflict of [true, false, true, false]) {
      const { evaluation, receipt } = await world.take();
      ages.push(evaluation.createdAt - START);
      time.advance(1_000);
      if (conflict) looks.askAgain(evaluation);
      else looks.askForMore(evaluation);
      looks.flush();
      broker.ack(evaluation.id, receipt);
    }
    expect(ages).toEqual([0, 0, 2_000, 2_000]);
  });
});
