import { join } from 'node:path';
import type { Clock, Ids, Random, Timers } from '#kernel';
import type { Logger } from 'pino';
import type { Http } from '../client/http.js';
import type { AgentOptions } from '../options.js';
import { CacheFolder } from './cache-folder.js';
import { CacheReport } from './cache-report.js';
import { InputFetcher } from './fetch-inputs.js';
import { InputCache } from './input-cache.js';
import { WebClient } from './web-client.js';

const GIB = 2 ** 30;
const MOST_UNPACKED = 1_000_000;

interface Around {
  readonly nodeId: string;
  readonly http: Http;
  readonly log: Logger;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly ids: Ids;
}

/** Takes up the cache that an earlier agent left, and begins to tell of it. */
export const openInputs = async (options: AgentOptions, around: Around): Promise<InputFetcher> => {
  const { cacheLimit = 20 * GIB, largestInput = 50 * GIB, allowHttp = false, allowAddresses = [] } = options;
  const { nodeId, http, log, clock, timers, random, ids } = around;
  const { authorities, largestUnpacked = 100 * GIB, mostUnpacked = MOST_UNPACKED } = options;
  const web = new WebClient({ allowHttp, allowAddresses, ...(authorities !== undefined && { authorities }) });
  let report: CacheReport | undefined = undefined;
  const changed = (): void => report?.changed();
  const cache = await InputCache.open(new CacheFolder(join(options.data, 'cache'), clock, ids), cacheLimit, changed);
  report = new CacheReport(nodeId, (least, most) => cache.recent(least, most), http, timers, random, log);
  report.changed();
  const limits = { largest: largestInput, largestUnpacked, mostUnpacked, allowHttp };
  return new InputFetcher({ cache, report, http, web, limits, timers, random });
};
