import type { Inventory } from '#contracts';
import { runProbe } from './run-probe.js';

type Gpu = Inventory['gpus'][number];

const QUERY = ['nvidia-smi', '--query-gpu=uuid,name,memory.total', '--format=csv,noheader,nounits'];

/** Parses `uuid, name, MiB` lines; a line that is not one is left out. */
export const parseGpus = (csv: string): Gpu[] =>
  csv.split('\n').flatMap((line) => {
    const [id, model, memory] = line.split(',').map((field) => field.trim());
    const bytes = Number(memory) * 2 ** 20;
    return id && model && bytes > 0 ? [{ id, model, memory: bytes }] : [];
  });

export const detectGpus = async (timeout: number): Promise<Gpu[]> => parseGpus((await runProbe(QUERY, timeout)) ?? '');
