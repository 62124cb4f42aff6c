import type { Assignment } from '#contracts';
import { searchPath, taskEnvironment } from '../runner/environment.js';
import { programOf } from '../runner/find-command.js';
import type { TaskFolder } from '../runner/task-folder.js';
import type { Launch } from '../runner/task-process.js';
import type { ExecutionHost } from './host.js';
import { limitsOf } from './limits.js';

/** What has to be started for an assignment, on this machine; a command that cannot be run is an `ExecutionFault`. */
export const prepareLaunch = async (
  host: ExecutionHost,
  assignment: Assignment,
  folder: TaskFolder,
): Promise<Launch> => {
  const environment = taskEnvironment(assignment, folder);
  const [name = '', ...rest] = assignment.task.command;
  const program = await programOf(name, folder.work, environment['PATH'] ?? searchPath());
  const { disk } = limitsOf(assignment.contract, host.processLimit, host.enforcement);
  const group = host.groups?.of(assignment.executionId);
  const { memory, cpu } = assignment.contract;
  await group?.create({ memory, cpu, processes: host.processLimit, hardCpu: host.hardCpu });
  return { command: [program, ...rest], environment, folder, largestFile: disk, group };
};
