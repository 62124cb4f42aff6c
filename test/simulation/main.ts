import { parseArgs } from 'node:util';
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
const types = new Map<string, number>();
let bad = 0;
for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.count); seed += 1) {
  const begun = process.cpuUsage();
  const { violations, digest, events, runs, refusedReports, log } = await simulate(seed, options);
  for (const { type } of log) types.set(type, (types.get(type) ?? 0) + 1);
  const { user, system } = process.cpuUsage(begun);
  const cpuMillis = Math.round((user + system) / 1000);
  console.log(JSON.stringify({ seed, violations: violations.length, events, runs, refusedReports, cpuMillis, digest }));
  for (const violation of violations.slice(0, 20)) console.log(`  ${violation}`);
  if (violations.length > 0) bad += 1;
}
console.log(JSON.stringify(Object.fromEntries([...types].sort())));
if (bad > 0) process.exitCode = 1;
