import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { EscalonClient } from '#contracts';
import { Exit, EXIT } from '../exit-codes.js';
import { dataFolderAt } from '../up/data-folder.js';
import { stopSignals } from '../up/signals.js';
import { bringUp } from '../up/system.js';
import { runExample } from './example.js';
import { narratorOn } from './narrator.js';
import { verifyDecisions, verifyLedger, verifyRecord } from './verify.js';
import type { Io } from '../io.js';
import type { System } from '../up/system.js';
import type { DemoFlags } from './flags.js';
import type { Narrator } from './narrator.js';

const EXAMPLES = ['primes', 'census'] as const;

/** Starts a system, runs the examples, checks the record, stops the system. Throws with why when anything does not hold. */
export const demo = async (flags: DemoFlags, io: Io): Promise<void> => {
  const narrator = narratorOn(io.out);
  const data = await mkdtemp(join(tmpdir(), 'escalon-demo-'));
  narrator.chapter('Escalon: two jobs, from submission to verified record');
  try {
    await withSystem(data, flags, io, narrator);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Exit(EXIT.failed, `the demo failed: ${why}\nwhat the services said is in ${dataFolderAt(data).services}`);
  }
  await rm(data, { recursive: true, force: true });
  narrator.chapter('Everything held, and everything is stopped.');
  narrator.step(`The results are in ${resolve(io.cwd, flags.out)}. \`npm start\` runs a system that stays.`);
};

const withSystem = async (data: string, flags: DemoFlags, io: Io, narrator: Narrator): Promise<void> => {
  const stop = stopSignals(() => undefined);
  const system = await start(data, flags, io, narrator, stop.signal);
  try {
    await Promise.race([journey(system, flags, io, narrator), interrupted(stop.asked)]);
    if (flags.keep) await keep(system, narrator, stop.asked);
  } finally {
    await system.stop();
  }
};

const start = (data: string, flags: DemoFlags, io: Io, narrator: Narrator, signal: AbortSignal): Promise<System> => {
  narrator.chapter('Starting the system');
  const { ESDB_URL: _events, DATABASE_URL: _database, ...env } = io.env;
  const options = { data, port: flags.port, agent: true, env, clock: io.clock, timers: io.timers };
  return bringUp({ ...options, say: (line) => narrator.step(line) }, signal);
};

const journey = async (system: System, flags: DemoFlags, io: Io, narrator: Narrator): Promise<void> => {
  const client = new EscalonClient({ url: system.url, token: system.token, timers: io.timers });
  for (const example of EXAMPLES) {
    const ran = await runExample(example, { client, io, narrator, out: resolve(io.cwd, flags.out, example) });
    narrator.chapter(`Checking the record of ${example}`);
    await verifyRecord(ran, client, narrator);
    await verifyDecisions(ran.jobId, client, narrator);
  }
  narrator.chapter('Checking the ledger of the node');
  await verifyLedger(client, io.timers, narrator);
};

const interrupted = async (asked: Promise<void>): Promise<never> => {
  await asked;
  throw new Error('it was interrupted');
};

const keep = async (system: System, narrator: Narrator, asked: Promise<void>): Promise<void> => {
  narrator.chapter(`The system stays up at ${system.url}`);
  narrator.step(`try: ESCALON_DATA=${system.folder.root} npx escalon job list; Ctrl-C ends it`);
  await asked;
};
