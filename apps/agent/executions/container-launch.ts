import { writeFile } from 'node:fs/promises';
import type { Assignment } from '#contracts';
import type { Batches } from '../batches/batches.js';
import { containerName, imageLabels } from '../containers/container.js';
import { engineEnvironment } from '../containers/engine.js';
import type { PresentImage } from '../containers/images.js';
import { runArguments } from '../containers/run-arguments.js';
import { containerEnvironment } from '../runner/environment.js';
import { launchScript } from '../runner/launch-script.js';
import type { TaskFolder } from '../runner/task-folder.js';
import { MARKED_VARIABLE } from '../runner/task-mark.js';
import type { Launch } from '../runner/task-process.js';
import { handOver } from '../runner/task-user.js';
import type { ExecutionHost } from './host.js';
import { limitsOf } from './limits.js';

/**
 * Makes ready the container of an assignment. What the supervisor starts is the engine's own program, as the agent's user and in the
 * environment that an engine needs: it stays for as long as the container runs, passes on what that writes, and ends as
 * it ends.
 */
export const containerLaunch = async (
  host: ExecutionHost,
  assignment: Assignment,
  folder: TaskFolder,
  batches?: Batches,
): Promise<Launch> => {
  const { executionId, task } = assignment;
  const engine = host.containers.engine();
  const image = await host.containers.present(task.image ?? '');
  await writeFile(folder.launch, launchScript(engineEnvironment()), { mode: 0o600 });
  await writeFile(folder.progress, '', { flag: 'a', mode: 0o600 });
  if (host.taskUser) await handOver(folder, host.taskUser);
  const environment = containerEnvironment(assignment, folder, batches);
  const run = runArguments(engine, { ...whatRuns(host, assignment, folder, image), environment });
  // The mark is of what is in the container, and not of what brings it about.
  const command = ['/usr/bin/env', '-u', MARKED_VARIABLE, '/bin/sh', folder.launch, engine.program, ...run];
  const container = host.containers.containerOf(executionId);
  return { command, folder, largestFile: undefined, group: undefined, container, logLimit: host.logLimit };
};

const whatRuns = (
  { containers, processLimit, enforcement, hardCpu }: ExecutionHost,
  { executionId, contract, task }: Assignment,
  folder: TaskFolder,
  image: PresentImage,
) => ({
  name: containerName(executionId),
  image: image.id,
  command: task.command,
  labels: { ...containers.labels, ...imageLabels(task.image ?? '', image.digest) },
  workFolder: folder.work,
  mounts: mountsOf(folder),
  user: containers.surroundings.user,
  limits: limitsOf(contract, processLimit, enforcement),
  cpu: contract.cpu,
  hardCpu,
  gpus: contract.gpus.map(({ id }) => id),
  network: containers.options.network,
});

/** At their own paths, so that whatever names one means the same on both sides; and where programs write by habit. */
const mountsOf = ({ work, home, temporary, progress }: TaskFolder): readonly (readonly [string, string])[] => [
  [work, work],
  [home, home],
  [temporary, temporary],
  ['/tmp', temporary],
  ['/var/tmp', temporary],
  [progress, progress],
];
