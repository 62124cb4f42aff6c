// A bootstrap of the mean number of GPUs in a node, one batch of resamples at a time: the task is run for items FROM to before
// TO of ITEMS, again and again, in one folder. Appends the mean of each to means.txt, and after the last sums them up in
// result.json.
import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';

const number = (name) => Number(process.env[`ESCALON_BATCH_${name}`]);
const [from, to, items] = [number('FROM'), number('TO'), number('ITEMS')];
const [heading, ...rows] = readFileSync(process.argv[2], 'utf8').trim().split('\n');
const column = heading.split(',').indexOf('gpu');
const gpus = rows.map((row) => Number(row.split(',')[column]));

/** Mulberry32, so that each item comes out alike whichever batch it is done in. */
const randomFrom = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let bits = Math.imul(seed ^ (seed >>> 15), seed | 1);
  bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
};

const meanOf = (item) => {
  const random = randomFrom(item);
  let sum = 0;
  for (let drawn = 0; drawn < gpus.length; drawn += 1) sum += gpus[Math.floor(random() * gpus.length)];
  return sum / gpus.length;
};

// A batch that was cut off may have written some lines; it is done again as a whole. Lines have all the same length.
const LINE = 9;
const line = (mean) => `${mean.toFixed(6)}\n`;
if (existsSync('means.txt')) truncateSync('means.txt', from * LINE);
appendFileSync('means.txt', Array.from({ length: to - from }, (_, index) => line(meanOf(from + index))).join(''));
console.log(`${to - from} resamples, ${from} to ${to - 1}`);

if (to === items) {
  const means = readFileSync('means.txt', 'utf8')
    .trim()
    .split('\n')
    .map(Number)
    .sort((a, b) => a - b);
  const at = (share) => means[Math.floor(share * (means.length - 1))];
  const result = { samples: means.length, nodes: gpus.length, low: at(0.025), median: at(0.5), high: at(0.975) };
  writeFileSync('result.json', `${JSON.stringify(result, null, 2)}\n`);
}
