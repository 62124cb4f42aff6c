import { describe, expect, it } from '@jest/globals';
import type { JobScheduler } from '../worker/job-scheduler.js';
import { JobSchedulers } from './provider.js';

const scheduler = (): JobScheduler => ({ process: async () => ({ kind: 'idle' }) });

describe('the provider of schedulers', () => {
  it('S-01 gives each type its scheduler, and lists the types that are enabled', () => {
    const [batch, daemon] = [scheduler(), scheduler()];
    const provider = new JobSchedulers({ batch, daemon });
    expect([provider.schedulerFor('batch'), provider.schedulerFor('daemon')]).toEqual([batch, daemon]);
    expect(provider.schedulerFor('daemon')).toBe(daemon);
    expect(provider.types).toEqual(['batch', 'daemon']);
  });

  it.each(['ops', 'cron', 'constructor', ''])(
    'S-01 refuses the type "%s", which it does not have, by its name',
    (type) => {
      const provider = new JobSchedulers({ batch: scheduler() });
      expect(() => provider.schedulerFor(type)).toThrow(
        `there is no scheduler for jobs of type "${type}"; there are batch`,
      );
    },
  );
});
