import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { readJobs, readNodes, simulate } from './index.js';
import type { Read, SimulationOptions, SimulationResult } from './index.js';

const items = <Item>(read: Read<Item>): readonly Item[] => {
  if (read.kind === 'mistakes') throw new Error(JSON.stringify(read.mistakes));
  return read.items;
};

const NODES = 'sn,cpu_milli,memory_mib,gpu,model';
const JOBS =
  'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time';

const run = (
  nodes: readonly string[],
  jobs: readonly string[],
  options: Partial<SimulationOptions> = {},
): SimulationResult =>
  simulate({
    nodes: items(readNodes([NODES, ...nodes].join('\n'))),
    jobs: items(readJobs([JOBS, ...jobs].join('\n'))),
    seed: 1,
    arrivalsOnly: false,
    ...options,
  });

const job = (name: string, gpus: number, milli: number, from: number, to: number | '', model = ''): string =>
  `${name},1000,1024,${gpus},${milli},${model},LS,Running,${from},${to},`;

describe('a simulated trace', () => {
  const node = ['n1,8000,65536,1,T4'];

  it('A-33 has jobs wait for room, oldest first, and leave after their time', () => {
    const result = run(node, [
      job('third', 1, 1000, 20, 30),
      job('first', 1, 1000, 0, 100),
      job('second', 1, 500, 10, 60),
    ]);
    // `first` until 100, `second` from then to 150, `third` for its 10 seconds to 160.
    expect(result).toMatchObject({
      placed: 3,
      waits: { p50: 90, p90: 130, p99: 130, max: 130 },
      allocation: { atFullArrivals: { gpu: 1 }, atEnd: { gpu: 0, cpu: 0 }, peak: { gpu: 1, cpu: 0.125 } },
      unplaced: { jobs: 0 },
    });
  });

  it('A-33 lets what is small pass what does not fit yet, and what leaves make room for what comes at that moment', () => {
    const result = run(node, [
      job('half', 1, 500, 0, 10),
      job('whole', 1, 1000, 1, 5),
      job('other', 1, 500, 2, 4),
      job('next', 1, 1000, 14, 15),
    ]);
    expect(result).toMatchObject({ placed: 4, waits: { p50: 0, max: 9 } });
  });

  it('A-33 tells what never fits, and why', () => {
    const result = run(node, [
      job('two', 2, 1000, 0, 10),
      job('other', 1, 1000, 0, 10, 'A100'),
      job('ok', 1, 1000, 0, ''),
      job('late', 1, 1000, 5, 6),
    ]);
    expect(result.unplaced).toEqual({
      jobs: 3,
      neverFit: 2,
      reasons: [
        { reason: 'capacity.gpu-count', never: true, jobs: 1 },
        { reason: 'capacity.gpu-free', never: false, jobs: 1 },
        { reason: 'capacity.gpu-model', never: true, jobs: 1 },
      ],
    });
    expect(result.allocation.atEnd).toEqual({ gpu: 1, cpu: 0.125 });
  });

  it('A-33 does not care in which order the lines are', () => {
    const nodes = ['n1,8000,65536,2,T4', 'n2,16000,65536,1,A100', 'n3,4000,65536,4,T4'];
    const jobs = Array.from({ length: 40 }, (_, index) =>
      job(`j${index}`, 1, 100 + ((index * 37) % 900), index % 7, 10 + index),
    );
    const options = { inflate: 1.5, arrivalsOnly: true, profile: 'gpu' };
    expect(run(nodes.toReversed(), jobs.toReversed(), options)).toEqual(run(nodes, jobs, options));
    expect(run(nodes.toReversed(), jobs.toReversed())).toEqual(run(nodes, jobs));
  });

  it('A-33 inflates until as much is asked for, and another seed draws otherwise', () => {
    const jobs = Array.from({ length: 20 }, (_, index) => job(`j${index}`, 1, 100 + index * 40, 0, ''));
    const nodes = ['n1,64000,65536,8,T4', 'n2,64000,65536,8,T4'];
    const result = run(nodes, jobs, { inflate: 1.3, arrivalsOnly: true });
    expect(result.gpuAsked).toBeGreaterThanOrEqual(1.3);
    expect(result.gpuAsked).toBeLessThan(1.3 + 1 / 16);
    expect(result.allocation.atFullArrivals?.gpu).toBeGreaterThan(0.8);
    expect(run(nodes, jobs, { inflate: 1.3, arrivalsOnly: true, seed: 2 })).not.toEqual(result);
  });

  it('A-33 knows no GPU share without GPUs', () => {
    const result = run(['n1,8000,65536,0,'], ['a,4000,1024', 'b,8000,1024,,,,,,3']);
    expect(result).toMatchObject({ gpuAsked: undefined, placed: 1, allocation: { atEnd: { cpu: 0.5 } } });
    expect(result.allocation.atFullArrivals).toBeUndefined();
  });
});

describe('the openb trace, every tenth node and job', () => {
  const trace = (name: string): string => {
    const [head, ...lines] = readFileSync(`test/bench/traces/${name}.csv`, 'utf8').trim().split('\n');
    return [head, ...lines.filter((_, index) => index % 10 === 0)].join('\n');
  };
  const options = {
    nodes: items(readNodes(trace('openb_node_list_gpu_node'))),
    jobs: items(readJobs(trace('openb_pod_list_default'))),
    seed: 42,
    arrivalsOnly: false,
  };

  it('A-33 allocates more than nine tenths of the GPUs, more than spreading does', () => {
    const packed = simulate({ ...options, arrivalsOnly: true, inflate: 1.3, profile: 'gpu' });
    const spread = simulate({ ...options, arrivalsOnly: true, inflate: 1.3, profile: 'interactive' });
    expect(packed.allocation.atEnd.gpu).toBeGreaterThan(0.93);
    expect(packed.allocation.atEnd.gpu).toBeGreaterThan((spread.allocation.atEnd.gpu ?? 1) + 0.01);
    expect(packed).toEqual(simulate({ ...options, arrivalsOnly: true, inflate: 1.3, profile: 'gpu' }));
  });

  it('A-33 places all in time but what fits no node', () => {
    const { placed, unplaced, allocation, jobs } = simulate(options);
    expect(placed + unplaced.neverFit).toBe(jobs);
    expect(allocation.atEnd).toEqual({ gpu: 0, cpu: 0 });
  });
});

describe('a trace', () => {
  it('may leave out columns and cells, name a model twice, and end its lines anyhow', () => {
    expect(
      items(readJobs('\uFEFFname,cpu_milli,memory_mib,num_gpu\r\na,500,1024,1\r\nb,500,1024\r\n\r\n')),
    ).toMatchObject([
      { name: 'a', gpus: 1, gpuMilli: 1000, models: [], createdAt: 0, duration: Infinity },
      { name: 'b', gpus: 0, gpuMilli: 0 },
    ]);
    expect(items(readJobs(`${JOBS}\na,1,1,1,500,A10|T4|A10,,,5,25`))).toMatchObject([
      { gpuMilli: 500, models: ['A10', 'T4'], createdAt: 5, duration: 20 },
    ]);
    expect(items(readNodes('model,sn,memory_mib,cpu_milli,num_gpu\nT4,x,1,2,3'))).toEqual([
      { name: 'x', cpuMilli: 2, memoryMib: 1, gpus: 3, model: 'T4' },
    ]);
  });

  it('is refused with every mistake and its line', () => {
    const text = [JOBS, 'a,x,1,1,2000', ',1,1', 'a,1,1,1.5,,,,,9,3', 'b,1,1,0,0,,,,,,,,'].join('\n');
    expect(readJobs(text)).toEqual({
      kind: 'mistakes',
      mistakes: [
        { line: 2, message: 'cpu_milli must be a number from 0, not "x"' },
        { line: 2, message: 'gpu_milli must be 1 to 1000 for a job that asks for GPUs, not 2000' },
        { line: 3, message: 'name is missing' },
        { line: 4, message: 'name a was taken on line 2' },
        { line: 4, message: 'num_gpu must be a whole number from 0 to 1024, not 1.5' },
        { line: 4, message: 'deletion_time 3 is before creation_time 9' },
        { line: 5, message: 'has 13 cells under 11 names' },
      ],
    });
    expect(readNodes('sn,cpu_milli,cpu_milli\n')).toEqual({
      kind: 'mistakes',
      mistakes: [
        { line: 1, message: 'the column memory_mib is missing' },
        { line: 1, message: 'the column cpu_milli is there twice' },
      ],
    });
    expect(readNodes(NODES)).toMatchObject({
      mistakes: [{ line: 1, message: 'nothing follows the names of the columns' }],
    });
  });
});
