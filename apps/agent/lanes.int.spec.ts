import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, toInstant } from '#kernel';
import type { Assignment, Contract } from '#contracts';
import { AgentWorld } from './testing/agent-world.js';
import { someAssignment } from './testing/assignments.js';
import type { RecordedControlPlane } from './testing/recorded-control-plane.js';

const GIB = 2 ** 30;
const inventory = {
  cpu: 4,
  memory: 8 * GIB,
  disk: 10 * GIB,
  ioSlots: 4,
  applications: [],
  packages: [],
  gpus: [{ id: 'GPU-1', model: 'T4', memory: GIB }],
};

let world: AgentWorld;
let plane: RecordedControlPlane;

beforeEach(async () => {
  world = await AgentWorld.start();
  ({ plane } = world);
});

afterEach(async () => {
  for (const name of ['hog', 'old', 'head']) await open(name);
  await world.stop();
});

const contract = (part: Partial<Contract>): Contract => ({
  cpu: 0.5,
  memory: GIB / 4,
  disk: 0,
  ioSlots: 0,
  gpus: [],
  ...part,
});
const onGpu = { gpus: [{ id: 'GPU-1', share: 1, memory: GIB }] };

const gate = (name: string): string => join(world.data, `gate-${name}`);
const open = (name: string): Promise<void> => writeFile(gate(name), '');
/** A task that says what it may use, and ends once its gate is open, whoever asks it to before. */
const stubborn = (name: string): string[] => [
  'sh',
  '-c',
  `trap '' TERM; echo $ESCALON_CPUS $ESCALON_MEMORY; while [ ! -e '${gate(name)}' ]; do sleep 0.02; done; echo $ESCALON_CPUS $ESCALON_MEMORY`,
];

const assign = (
  name: string,
  part: Partial<Contract>,
  command: string[] = ['true'],
  duration?: number,
  more: Partial<Assignment> = {},
): void =>
  plane.assign(
    someAssignment(`${name}.e1`, command, duration === undefined ? {} : { duration }, {
      contract: contract(part),
      ...more,
    }),
  );

const started = async (name: string, part: Partial<Contract>, duration?: number): Promise<void> => {
  assign(name, part, stubborn(name), duration);
  await plane.until(() => plane.log(`${name}.e1`, 'stdout') !== '', `${name} is up`);
};

/** Runs a task in the lane that nobody else is in: all that was listed before it has been considered when it has ended. */
const considered = async (name: string): Promise<void> => {
  assign(name, { cpu: 0, memory: 1, ioSlots: 1 });
  await plane.reported(`${name}.e1`, 'start');
};

const heard = (...names: string[]): string[] => names.filter((name) => plane.typesOf(`${name}.e1`).includes('confirm'));

describe('lanes of an agent', () => {
  it('G-58 a task for a GPU that waits for the memory of one that is being ended holds up no small task for the CPU', async () => {
    await world.begin({ inventory, grace: 600_000 });
    await started('hog', { memory: 6 * GIB });
    plane.unassign('hog.e1');
    assign('gpu', { ...onGpu, memory: 6 * GIB });
    assign('small', {});

    await plane.reported('small.e1', 'succeed');
    expect(heard('gpu', 'small')).toEqual(['small']);

    await open('hog');
    await plane.reported('gpu.e1', 'succeed');
  });

  it('G-01 G-51 `fifo` keeps a small task waiting behind the first of its lane, and says so when it is declined', async () => {
    await world.begin({ inventory, lanes: { cpu: { discipline: 'fifo' } } });
    await started('old', { cpu: 3 });
    assign('head', { cpu: 4 });
    assign('small', { cpu: 1 }, ['true'], 1, { confirmBy: toInstant(systemClock.now() + 1_500) });

    const { reason } = await plane.reported('small.e1', 'decline');
    expect(reason).toBe(
      'behind head.e1: cpu: asked 4, 1 of 4 free; lane cpu (fifo), place 2 of 2; expected start of head.e1 unknown',
    );
    await open('old');
    await plane.reported('head.e1', 'succeed');
    expect(heard('small')).toEqual([]);
  });

  it('G-40 G-41 G-42 G-56 a paused task keeps what it has; resumed it goes on with it, and `backfill` counts on its end again', async () => {
    await world.begin({ inventory });
    await started('old', { cpu: 3, memory: 6 * GIB }, 3600);
    plane.desire('old.e1', 'pause');
    await plane.reported('old.e1', 'pause');
    assign('head', { cpu: 4 });
    assign('small', { cpu: 1 }, ['true'], 60);
    assign('gpu', { ...onGpu, memory: 4 * GIB });
    await considered('io');
    // Nobody knows when the head can start, and none has what the paused one holds.
    expect(heard('head', 'small', 'gpu')).toEqual([]);

    plane.desire('old.e1', 'run');
    await plane.reported('small.e1', 'succeed');
    expect(heard('head', 'gpu')).toEqual([]);

    await open('old');
    await plane.reported('old.e1', 'succeed');
    await Promise.all([plane.reported('head.e1', 'succeed'), plane.reported('gpu.e1', 'succeed')]);
    const told = `3 ${6 * GIB}\n`;
    expect(plane.log('old.e1', 'stdout')).toBe(told + told);
  });

  it('G-54 G-58 a task that was taken back is counted in its lane', async () => {
    const first = await world.begin({ inventory });
    await started('old', {});
    await first.stop({ detach: true });
    await world.begin({ inventory, lanes: { cpu: { workers: 1 } } });
    assign('next', {});
    await considered('io');
    expect(heard('next')).toEqual([]);

    await open('old');
    await plane.reported('old.e1', 'succeed');
    await plane.reported('next.e1', 'succeed');
  });
});
