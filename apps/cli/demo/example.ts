import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { download } from '../job/download.js';
import { followJob } from '../job/follow.js';
import { readJobFile } from '../job/job-file.js';
import { submitFile } from '../job/submit.js';
import type { Artifact, Consumption, EscalonClient, JobStateName } from '#contracts';
import { formatBytes, formatDuration } from '#contracts';
import type { Io } from '../io.js';
import type { Narrator } from './narrator.js';

export interface ExamplePorts {
  readonly client: EscalonClient;
  readonly io: Io;
  readonly narrator: Narrator;
  /** Where the results go. */
  readonly out: string;
}

/** What the server said of the job at a revision, while it ran. */
export interface Served {
  readonly revision: string;
  readonly state: JobStateName;
}

export interface RanExample {
  readonly jobId: string;
  readonly served: readonly Served[];
}

/** Built, this file is dist/apps/cli/demo/example.js. */
const EXAMPLES = join(import.meta.dirname, '..', '..', '..', '..', 'examples');

/** Submits an example, tells what happens to it until it ends, and shows why, how and with what it did. */
export const runExample = async (name: string, ports: ExamplePorts): Promise<RanExample> => {
  const { client, io, narrator } = ports;
  narrator.chapter(`Submitting examples/${name}/job.yaml`);
  const [file] = await readJobFile(join(EXAMPLES, name, 'job.yaml'), [], io.cwd);
  if (!file) throw new Error(`examples/${name} has no job`);
  if ('mistakes' in file) throw new Error(file.mistakes.join('; '));
  const { id, warnings } = await submitFile(client, file, io.ids.next());
  for (const input of file.localInputs) narrator.step(`input stored: ${input.file}`);
  for (const warning of warnings) narrator.step(`warning: ${warning}`);
  narrator.step(`job ${id}`);
  const served = await follow(id, ports);
  await explain(id, client, narrator);
  await showResults(id, ports);
  return { jobId: id, served };
};

/** Follows the job and, at each look, keeps what the server says of it. */
const follow = async (id: string, { client, io, narrator }: ExamplePorts): Promise<readonly Served[]> => {
  const served: Served[] = [];
  const onLook = async (): Promise<void> => {
    const { revision, state } = await client.getJob(id);
    served.push({ revision, state });
  };
  const progress = { line: (text: string) => narrator.step(text), at: () => undefined, stop: () => undefined };
  const code = await followJob(
    id,
    { client, clock: io.clock, timers: io.timers, progress },
    { timeout: 120_000, onLook },
  );
  if (code !== 0) throw new Error(`the job ended with exit code ${code} instead of 0`);
  return served;
};

const explain = async (id: string, client: EscalonClient, narrator: Narrator): Promise<void> => {
  const { items } = await client.decisions(id);
  for (const { number } of items) {
    const { explanation, winner } = await client.decision(id, number);
    narrator.chapter(`Why ${winner ?? 'it waited'} (decision ${number})`);
    for (const line of explanation as string[]) narrator.step(line);
  }
};

const showResults = async (id: string, { client, narrator, out }: ExamplePorts): Promise<void> => {
  const { items } = await client.results(id);
  const succeeded = items.filter(({ state }) => state === 'succeeded');
  narrator.chapter('What it left behind');
  for (const { artifacts, consumption } of succeeded) {
    if (consumption) narrator.step(consumptionLine(consumption));
    for (const artifact of artifacts) await showArtifact(artifact, await download(client, artifact, out), narrator);
  }
};

const consumptionLine = ({ wallSeconds, cpuSeconds, maxMemory, bytesIn, bytesOut }: Consumption): string =>
  `${formatDuration(wallSeconds)} on the clock, ${formatDuration(cpuSeconds)} of CPU, ${formatBytes(maxMemory)} of memory ` +
  `at most, ${formatBytes(bytesIn)} in, ${formatBytes(bytesOut)} out`;

const LARGEST_SHOWN = 1_000;

const showArtifact = async (artifact: Artifact, file: string, narrator: Narrator): Promise<void> => {
  narrator.step(`${artifact.path}  ${formatBytes(artifact.size)}  sha256:${artifact.sha256.slice(0, 16)}…  → ${file}`);
  if (artifact.mediaType !== 'application/json' || artifact.size > LARGEST_SHOWN) return;
  narrator.step(`  ${JSON.stringify(JSON.parse(await readFile(file, 'utf8')))}`);
};
