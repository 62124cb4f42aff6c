import type { AssignedTask, Assignment } from '#contracts';

const MIB = 2 ** 20;

const someTask = (command: readonly string[], more: Partial<AssignedTask> = {}): AssignedTask => ({
  command,
  env: {},
  outputs: [],
  partition: 0,
  partitions: 1,
  ...more,
});

/** A small reservation of `command` that waits for confirmation. */
export const someAssignment = (
  executionId: string,
  command: readonly string[],
  task: Partial<AssignedTask> = {},
  more: Partial<Assignment> = {},
): Assignment => ({
  executionId,
  fencingToken: 7,
  jobId: executionId.split('.')[0] ?? executionId,
  attempt: 1,
  desired: 'run',
  state: 'reserved',
  contract: { cpu: 0.5, memory: 512 * MIB, disk: 0, ioSlots: 0, gpus: [] },
  task: someTask(command, task),
  inputs: [],
  confirmBy: '2100-01-01T00:00:00.000Z',
  ...more,
});
