import { chown, writeFile } from 'node:fs/promises';
import type { Assignment } from '#contracts';
import type { Batches } from '../batches/batches.js';
import { searchPath, taskEnvironment } from '../runner/environment.js';
import { programOf } from '../runner/find-command.js';
import { launchScript } from '../runner/launch-script.js';
import type { TaskFolder } from '../runner/task-folder.js';
import type { ProcessIdentity } from '../runner/process-identity.js';
import { TaskProcess } from '../runner/task-process.js';
import type { Launch } from '../runner/task-process.js';
import { handOver } from '../runner/task-user.js';
import { containerLaunch } from './container-launch.js';
import type { ExecutionHost } from './host.js';
import { limitsOf } from './limits.js';

/**
 * Makes ready what has to be started for an assignment on this machine: its control group, the script that becomes it, its
 * files its user's. A command that cannot be run is an `ExecutionFault`.
 */
export const prepareLaunch = async (
  host: ExecutionHost,
  assignment: Assignment,
  folder: TaskFolder,
  batches?: Batches,
): Promise<Launch> => {
  const { image } = assignment.task;
  if (image !== undefined) return containerLaunch(host, assignment, folder, batches);
  const environment = taskEnvironment(assignment, folder, batches);
  const [name = '', ...rest] = assignment.task.command;
  const program = await programOf(name, folder.work, environment['PATH'] ?? searchPath());
  const { disk } = limitsOf(assignment.contract, host.processLimit, host.enforcement);
  const group = host.groups?.of(assignment.executionId);
  const { memory, cpu } = assignment.contract;
  await group?.create({ memory, cpu, processes: host.processLimit, hardCpu: host.hardCpu });
  await writeFile(folder.launch, launchScript(environment), { mode: 0o600 });
  if (host.taskUser) {
    await handOver(folder, host.taskUser);
    await chown(folder.launch, host.taskUser.uid, host.taskUser.gid);
  }
  const becomes = [...(host.taskUser?.prefix ?? []), '/bin/sh', folder.launch];
  const command = [...becomes, program, ...rest];
  return { command, folder, largestFile: disk, group, container: undefined, logLimit: host.logLimit };
};

/** The process of an assignment that an earlier agent started, with its control group or its container. */
export const adoptProcess = (
  { timers, groups, containers }: ExecutionHost,
  { executionId, task }: Assignment,
  folder: TaskFolder,
  identity: ProcessIdentity,
): TaskProcess =>
  task.image === undefined
    ? TaskProcess.adopt(identity, folder, timers, groups?.of(executionId))
    : TaskProcess.adopt(identity, folder, timers, undefined, containers.containerOf(executionId));
