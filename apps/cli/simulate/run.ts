import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { simulate } from '#placement/simulation';
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
  if (flags.json !== undefined) {
    await writeFile(resolve(io.cwd, flags.json), `${JSON.stringify(summary, null, 2)}\n`);
  }
  writeOne(io.out, flags.output, summary, () => summaryTable(summary));
};

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
