import { parseArgs } from 'node:util';
import { kindOf } from './seeds.js';
import { simulate } from './simulate.js';
import { DEFAULTS } from './simulation.js';

/* `npm run simulate:seed -- --seed N [--count N] [--jobs N] [--agents N] [--storm MS] [--trace]`: replays seeds in turn. */

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(DEFAULTS.jobs) },
    agents: { type: 'string', default: String(DEFAULTS.agents) },
    storm: { type: 'string', default: String(DEFAULTS.storm) },
    trace: { type: 'boolean', default: false },
  },
});

const options = {
  jobs: Number(values.jobs),
  agents: Number(values.agents),
  storm: Number(values.storm),
  ...(values.trace ? { trace: (line: string) => console.log(line) } : {}),
};
const kinds = new Map<string, number>();
let bad = 0;
for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.count); seed += 1) {
  const begun = process.cpuUsage();
  const { violations, digest, events, runs, refusedReports, log } = await simulate(seed, options);
  for (const { type, data } of log) {
    const kind = kindOf(type, data);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const { user, system } = process.cpuUsage(begun);
  const cpuMillis = Math.round((user + system) / 1000);
  console.log(JSON.stringify({ seed, violations: violations.length, events, runs, refusedReports, cpuMillis, digest }));
  for (const violation of violations.slice(0, 20)) console.log(`  ${violation}`);
  if (violations.length > 0) bad += 1;
}
console.log(JSON.stringify(Object.fromEntries([...kinds].sort())));
if (bad > 0) process.exitCode = 1;
