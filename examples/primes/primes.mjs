// Counts the primes below a limit, block by block, so that progress can be told: a line `::progress 0.4 message` on
// stdout is all a task needs for that. Leaves result.json behind.
import { writeFileSync } from 'node:fs';

const BLOCK = 100_000;
const limit = Number(process.argv[2] ?? 1_000_000);
if (!Number.isInteger(limit) || limit < 2 || limit > 1e9) {
  console.error(`the limit must be a whole number from 2 to 1000000000, not ${process.argv[2]}`);
  process.exit(2);
}

/** The sieve of Eratosthenes up to the root: all that the blocks are divided by. */
const smallPrimes = (root) => {
  const composite = new Uint8Array(root + 1);
  const primes = [];
  for (let n = 2; n <= root; n += 1) {
    if (composite[n]) continue;
    primes.push(n);
    for (let multiple = n * n; multiple <= root; multiple += n) composite[multiple] = 1;
  }
  return primes;
};

/** The primes in [from, to). */
const primesIn = (from, to, divisors) => {
  const composite = new Uint8Array(to - from);
  for (const prime of divisors) {
    const first = Math.max(prime * prime, Math.ceil(from / prime) * prime);
    for (let multiple = first; multiple < to; multiple += prime) composite[multiple - from] = 1;
  }
  const found = [];
  for (let n = from; n < to; n += 1) if (!composite[n - from]) found.push(n);
  return found;
};

const divisors = smallPrimes(Math.floor(Math.sqrt(limit)));
let count = 0;
let largest = 2;
let twins = 0;
let told = 0;
for (let from = 2; from < limit; from += BLOCK) {
  const to = Math.min(from + BLOCK, limit);
  for (const prime of primesIn(from, to, divisors)) {
    count += 1;
    // 2 and 3 are one apart; every other neighbour at distance two makes a pair.
    if (prime - largest === 2) twins += 1;
    largest = prime;
  }
  const done = Math.floor((20 * to) / limit) / 20;
  if (done > told) console.log(`::progress ${done} ${count} primes below ${to}`);
  told = done;
}
const result = { limit, count, largest, twinPairs: twins };
writeFileSync('result.json', `${JSON.stringify(result, null, 2)}\n`);
console.log(`${count} primes below ${limit}; the largest is ${largest}`);
