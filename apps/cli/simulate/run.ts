import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { simulate } from '#placement/simulation';
import { EXIT, Exit } from '../exit-codes.js';
import { fileTrouble } from '../input-file.js';
import { writeOne } from '../output/format.js';
import { simulationOptions } from './options.js';
import { summaryTable } from './summary.js';
import type { SimulationOptions } from '#placement/simulation';
import type { Io } from '../io.js';
import type { SimulateFlags } from './options.js';
import type { Summary } from './summary.js';

export const runSimulation = async (flags: SimulateFlags, io: Io): Promise<void> => {
  const options = await simulationOptions(flags, io.cwd);
  const summary = measured(options, io);
  // First: whatever becomes of the file, the run was not for nothing.
  writeOne(io.out, flags.output, summary, () => summaryTable(summary));
  if (flags.json !== undefined) await keep(summary, flags.json, io);
};

const keep = async (summary: Summary, name: string, io: Io): Promise<void> =>
  writeFile(resolve(io.cwd, name), `${JSON.stringify(summary, null, 2)}\n`).catch((error: unknown) => {
    throw new Exit(EXIT.failed, `error: ${name} could not be written: ${fileTrouble(error)}`);
  });

const measured = (options: SimulationOptions, io: Io): Summary => {
  const begun = io.clock.now();
  const result = simulate(options);
  const seconds = Math.max(1, io.clock.now() - begun) / 1000;
  const { seed, arrivalsOnly, inflate, profile, weights } = options;
  return {
    options: {
      seed,
      arrivalsOnly,
      ...(inflate !== undefined && { inflate }),
      ...(profile !== undefined && { profile }),
      ...(weights && { weights }),
    },
    ...result,
    seconds,
    decisionsPerSecond: Math.round(result.decisions / seconds),
  };
};
