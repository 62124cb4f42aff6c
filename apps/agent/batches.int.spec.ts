import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { taskFolder } from './runner/task-folder.js';
import { AgentWorld } from './testing/agent-world.js';
import { someAssignment } from './testing/assignments.js';
import { eventually } from './testing/eventually.js';

/* A task that is run for one batch of its items after another, on real processes. */

const MIB = 2 ** 20;

let world: AgentWorld;

beforeEach(async () => {
  world = await AgentWorld.start();
});

afterEach(() => world.stop());

/** 128 MiB, and 48 MiB for each of 2 to 8 items at a time, of 20. */
const assign = (command: readonly string[], items = { from: 0, to: 20, of: 20 }): void => {
  const batch = { min: 2, memoryPerItem: 48 * MIB, gpuMemoryPerItem: 0, items };
  const contract = { cpu: 0.5, memory: 512 * MIB, disk: 0, ioSlots: 0, gpus: [], batchSize: 8 };
  world.plane.assign(someAssignment('job1.e1', command, { batch, outputs: ['done'] }, { contract }));
};
const sh = (script: string): string[] => ['sh', '-c', script];
/** Keeps which items it was run for. */
const DONE = 'echo "$ESCALON_BATCH_FROM $ESCALON_BATCH_TO" >> done';
const TELLS = 'echo "$ESCALON_BATCH_FROM to $ESCALON_BATCH_TO, $ESCALON_BATCH_SIZE of $ESCALON_BATCH_ITEMS"';

/** The ranges that the batches left in the task's folder, as they were published. */
const published = (artifacts: readonly { readonly sha256: string }[] = []): number[][] => {
  const text = world.plane.artifacts.get(artifacts[0]?.sha256 ?? '')?.toString() ?? '';
  return text
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map(Number));
};
/** Every item of `from` to `to` once and in order, in ranges of at most so many. */
const expectWhole = (ranges: readonly number[][], from: number, to: number, most: number): void => {
  const items = ranges.flatMap(([a = 0, b = 0]) => Array.from({ length: b - a }, (_, index) => a + index));
  expect(items).toEqual(Array.from({ length: to - from }, (_, index) => from + index));
  for (const [a = 0, b = 0] of ranges) expect(b - a).toBeLessThanOrEqual(most);
};

describe('G-57 a task with more items than a batch takes', () => {
  it('G-26 is run for one batch after another, in one folder, and reported as one', async () => {
    await world.begin();
    assign(sh(`${DONE}; ${TELLS}; echo "::progress 1 saved"`), { from: 100, to: 120, of: 300 });

    const { artifacts, exitCode } = await world.plane.reported('job1.e1', 'succeed');
    expect([exitCode, published(artifacts)]).toEqual([
      0,
      [
        [100, 108],
        [108, 116],
        [116, 120],
      ],
    ]);
    const told = world.plane.log('job1.e1', 'stdout').match(/.*of 300\n/g);
    expect(told).toEqual(['100 to 108, 8 of 300\n', '108 to 116, 8 of 300\n', '116 to 120, 4 of 300\n']);
    expect(world.plane.typesOf('job1.e1').filter((type) => type !== 'progress')).toEqual([
      'confirm',
      'start',
      'publish',
      'succeed',
    ]);
    const progress = world.plane.reportsOf('job1.e1').filter((report) => report.type === 'progress');
    expect(progress.at(-1)).toMatchObject({ fraction: 1, message: '16 of 20 items: saved' });
    const fractions = progress.map(({ fraction }) => fraction);
    expect(fractions).toEqual(fractions.toSorted((left, right) => left - right));
  });

  it('has one log with one limit, however many batches write to it', async () => {
    const limit = 64 * 1024;
    await world.begin({ logLimit: limit });
    // 8 KiB and a last line for each of 16 batches, told apart by where they begin and end.
    const writes =
      'for i in $(seq 8); do printf "%01023d\\n" "$ESCALON_BATCH_FROM"; done; echo "end of $ESCALON_BATCH_TO"';
    const waits = `[ "$ESCALON_BATCH_TO" -lt 32 ] || while [ ! -e '${join(world.data, 'go')}' ]; do sleep 0.02; done`;
    const batch = { min: 1, memoryPerItem: MIB, gpuMemoryPerItem: 0, items: { from: 0, to: 32, of: 32 } };
    const contract = { cpu: 0.5, memory: 512 * MIB, disk: 0, ioSlots: 0, gpus: [], batchSize: 2 };
    world.plane.assign(someAssignment('job1.e1', sh(`${writes}; ${waits}`), { batch }, { contract }));
    const parts = () => world.plane.logParts('job1.e1', 'stdout');
    await world.plane.until(() => parts().at(-1)?.text.endsWith('end of 32\n') === true, 'all is written');
    const folder = dirname(taskFolder(world.data, 'job1.e1').stdout);
    const kept = readdirSync(folder).filter((name) => /^stdout(?:\.\d+)?$/.test(name));
    expect(kept.length).toBeGreaterThan(1);
    expect(kept.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)).toBeLessThanOrEqual(limit);
    await world.go();
    await world.plane.reported('job1.e1', 'succeed');

    const batches = Array.from({ length: 16 }, (_, index) => {
      const line = `${String(2 * index).padStart(1023, '0')}\n`;
      return `${line.repeat(8)}end of ${2 * index + 2}\n`;
    });
    const whole = batches.join('');
    for (const { begin, text } of parts()) expect(text).toBe(whole.slice(begin, begin + text.length));
    expect(parts()[0]?.text.length).toBeGreaterThanOrEqual(limit / 2);
    expect(whole.endsWith(parts().at(-1)?.text ?? 'nothing')).toBe(true);
  });

  it('G-25 tries a batch that ran out of memory again with half of its items, and no later one with more', async () => {
    await world.begin();
    const fills = `exec node -e "const kept = Buffer.alloc(700 * 1048576, 1); setInterval(() => kept.length, 1000)"`;
    assign(sh(`if [ "$ESCALON_BATCH_SIZE" -gt 4 ]; then ${fills}; fi; ${DONE}`));

    const { artifacts, consumption } = await world.plane.reported('job1.e1', 'succeed');
    expectWhole(published(artifacts), 0, 20, 4);
    expect(consumption.maxMemory).toBeGreaterThan(512 * MIB);
  });

  it('G-25 fails when not even its smallest batch has memory enough, and says how far it came', async () => {
    await world.begin();
    const short = 'echo "std::bad_alloc" >&2; exit 134';
    assign(sh(`if [ "$ESCALON_BATCH_FROM" -gt 0 ]; then ${short}; fi; ${DONE}`));

    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({ class: 'resource', code: 'out-of-memory' });
    expect(failed.diagnostics).toMatchObject({ items: { done: 8, of: 20, batches: 1, batch: { from: 8, to: 10 } } });
    expect(published(failed.artifacts)).toEqual([[0, 8]]);
  });

  it('fails with the first batch that fails, whose own words are the diagnosis', async () => {
    await world.begin();
    assign(sh(`echo "from $ESCALON_BATCH_FROM" >&2; test "$ESCALON_BATCH_FROM" = 0 || exit 3; ${DONE}`));

    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({ class: 'application', code: 'exit-code', exitCode: 3 });
    expect(failed.diagnostics).toMatchObject({ stderr: ['from 8'], items: { done: 8, of: 20 } });
  });

  it('G-59 goes on where an earlier agent was, smaller on a machine that became smaller, and doing no item twice', async () => {
    const first = await world.begin();
    assign(world.untilGo(`${DONE}; echo up`, 'true'));
    await eventually(() => world.journalled('job1.e1').phase === 'running', 'the first batch runs');
    await first.stop({ detach: true });
    expect(world.journalled('job1.e1')).toMatchObject({
      version: 2,
      phase: 'running',
      batches: { current: { to: 8 } },
    });

    const inventory = world.plane.enrolments[0]?.inventory;
    await world.begin({ inventory: { ...inventory, memory: 272 * MIB } });
    await world.go();
    const { artifacts } = await world.plane.reported('job1.e1', 'succeed');
    expect(published(artifacts)).toEqual([
      [0, 8],
      [8, 11],
      [11, 14],
      [14, 17],
      [17, 20],
    ]);
    expect(world.plane.typesOf('job1.e1').filter((type) => type === 'start')).toHaveLength(1);
  });

  it('A-40 is ended by a stop like any other task', async () => {
    await world.begin();
    assign(sh(`${DONE}; test "$ESCALON_BATCH_FROM" = 0 || exec sleep 87.001`));
    await eventually(() => world.journalled('job1.e1').batches?.current?.from === 8, 'the second batch runs');
    world.plane.desire('job1.e1', 'stop');
    const stopped = await world.plane.reported('job1.e1', 'fail');
    expect(stopped).toMatchObject({ class: 'cancelled', code: 'stopped', diagnostics: { items: { done: 8, of: 20 } } });
  });
});
