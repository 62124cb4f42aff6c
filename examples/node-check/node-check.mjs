// Looks at the machine it runs on: what it is, how fast it hashes, whether its disk gives back what it was given. Leaves
// result.json behind; ends with 1 when the disk does not.
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { arch, availableParallelism, hostname, platform, totalmem } from 'node:os';

const MIB = 1024 ** 2;
const size = Number(process.argv[2] ?? 64);
if (!Number.isInteger(size) || size < 1 || size > 1024) {
  console.error(`the size must be a whole number of MiB from 1 to 1024, not ${process.argv[2]}`);
  process.exit(2);
}

const digestOf = (bytes) => createHash('sha256').update(bytes).digest('hex');
const secondsFor = (work) => {
  const begun = performance.now();
  const value = work();
  return { value, seconds: (performance.now() - begun) / 1000 };
};
const perSecond = (seconds) => Math.round(size / seconds);

const bytes = randomBytes(size * MIB);
const hashing = secondsFor(() => digestOf(bytes));
const writing = secondsFor(() => {
  const file = openSync('probe.bin', 'w');
  for (let at = 0; at < bytes.length; at += MIB) writeSync(file, bytes, at, MIB);
  fsyncSync(file);
  closeSync(file);
});
const intact = digestOf(readFileSync('probe.bin')) === hashing.value;
rmSync('probe.bin');

const result = {
  host: hostname(),
  system: `${platform()} ${arch()}`,
  node: process.version,
  cores: availableParallelism(),
  memoryGiB: Math.round(totalmem() / 1024 ** 3),
  hashedMiBPerSecond: perSecond(hashing.seconds),
  writtenMiBPerSecond: perSecond(writing.seconds),
  diskIntact: intact,
};
writeFileSync('result.json', `${JSON.stringify(result, null, 2)}\n`);
console.log(`${result.host}: ${intact ? 'its disk is intact' : 'ITS DISK GAVE BACK OTHER BYTES'}`);
process.exitCode = intact ? 0 : 1;
