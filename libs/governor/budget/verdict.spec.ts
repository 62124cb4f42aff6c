import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { freeCapacity, shortages } from '#nodes';
import type { Contract, Inventory } from '#nodes';
import { chooseContract } from '#placement';
import type { ClusterNode, Demand } from '#placement';
import { contractFor, demandOf, machineOf, verdict } from './index.js';
import type { Capacity, Estimate, Verdict } from './index.js';
import { capacity, estimate } from '../testing/bench.js';

const device = (id: string, memory = 100, model = 'T4') => ({ id, model, memory });

const held = (part: Partial<Contract>): Contract => ({ cpu: 0, memory: 0, disk: 0, ioSlots: 0, gpus: [], ...part });

const ask = (needs: Estimate, has: Partial<Capacity> = {}, ...holds: Partial<Contract>[]): Verdict =>
  verdict(demandOf(needs), machineOf(capacity(has), holds.map(held)));

const reasonOf = (answer: Verdict) => ('reason' in answer ? answer.reason : undefined);

const batch = { size: 10, min: 2, memoryPerItem: 100, gpuMemoryPerItem: 0 };

describe('verdict', () => {
  it('grants what fits exactly, decimal shares too', () => {
    const tenths = Array.from({ length: 9 }, () => ({ cpu: 0.1 }));
    const answer = ask(estimate({ cpu: 0.1, memory: 1000, disk: 1000, ioSlots: 2 }), { cpu: 1 }, ...tenths);
    expect(answer).toEqual({
      kind: 'GRANT',
      contract: { cpu: 0.1, memory: 1000, disk: 1000, ioSlots: 2, gpus: [] },
    });
  });

  it.each([
    ['G-06 cpu', { cpu: 3 }, { cpu: 2 }, 'capacity.cpu', 'cpu: asked 3, 2 of 4 free'],
    ['G-04 memory', { memory: 600 }, { memory: 500 }, 'capacity.memory', 'memory: asked 600, 500 of 1000 free'],
    ['disk', { disk: 1 }, { disk: 1000 }, 'capacity.disk', 'disk: asked 1, 0 of 1000 free'],
    ['G-07 slots', { ioSlots: 2 }, { ioSlots: 1 }, 'capacity.io-slots', 'ioSlots: asked 2, 1 of 2 free'],
  ])('lets wait for %s what is held only', (_, needs, holds, code, message) => {
    const answer = ask(estimate(needs), {}, holds);
    expect([answer.kind, reasonOf(answer)]).toMatchObject(['WAIT', { code, message }]);
    expect(ask(estimate(needs)).kind).toBe('GRANT');
  });

  it('rejects what can never fit, with every shortage', () => {
    const answer = ask(estimate({ cpu: 5, memory: 2000, gpu: { count: 1, share: 1, models: [] } }), {}, { cpu: 1 });
    expect(answer.kind).toBe('REJECT');
    expect(reasonOf(answer)).toMatchObject({
      code: 'capacity.cpu',
      message: 'cpu: asked 5, 4 of 4 free; memory: asked 2000, 1000 of 1000 free; gpu: asked 1, 0 on the machine',
      details: { shortages: [{ code: 'capacity.cpu' }, { code: 'capacity.memory' }, { code: 'capacity.gpu-count' }] },
    });
  });

  it('lets in what asks nothing of a part that is over-committed', () => {
    expect(ask(estimate({ memory: 1 }), {}, { cpu: 5 }).kind).toBe('GRANT');
    expect(ask(estimate({ cpu: 0.001 }), {}, { cpu: 5 }).kind).toBe('WAIT');
  });

  it('G-08 G-25 reduces a batch to what memory is free for, down to its minimum', () => {
    const needs = estimate({ memory: 50 }, { batch });
    expect(ask(needs, { memory: 1050 })).toMatchObject({ kind: 'GRANT', contract: { batchSize: 10, memory: 1050 } });
    expect(ask(needs)).toMatchObject({ kind: 'REDUCE_BATCH', asked: 10, contract: { batchSize: 9, memory: 950 } });
    expect(ask(needs, {}, { memory: 750 })).toMatchObject({ contract: { batchSize: 2, memory: 250 } });
    expect(ask(needs, {}, { memory: 751 }).kind).toBe('WAIT');
    expect(ask(needs, { memory: 249 }).kind).toBe('REJECT');
  });

  it('G-05 G-08 reduces a batch to the memory of the last device that it needs', () => {
    const gpu = { count: 2, share: 0.5, memory: 10, models: [] };
    const needs = estimate({ gpu }, { batch: { size: 50, min: 1, memoryPerItem: 0, gpuMemoryPerItem: 2 } });
    const gpus = [device('a', 90), device('b', 60), device('c', 30)];
    expect(ask(needs, { gpus })).toEqual({
      kind: 'REDUCE_BATCH',
      asked: 50,
      contract: held({
        batchSize: 25,
        gpus: [
          { id: 'b', share: 0.5, memory: 60 },
          { id: 'a', share: 0.5, memory: 60 },
        ],
      }),
    });
  });
});

describe('G-05 devices', () => {
  const shared = estimate({ gpu: { count: 1, share: 0.5, models: [] } });
  const whole = estimate({ gpu: { count: 1, share: 1, models: [] } });
  const on = (answer: Verdict) => ('contract' in answer ? answer.contract.gpus : reasonOf(answer)?.code);

  it('a share goes to the fullest that still has room, so that others stay whole', () => {
    const gpus = [device('a'), device('b'), device('c')];
    const holds = {
      gpus: [
        { id: 'b', share: 0.4, memory: 40 },
        { id: 'c', share: 0.6, memory: 10 },
      ],
    };
    expect(on(ask(shared, { gpus }, holds))).toEqual([{ id: 'b', share: 0.5, memory: 50 }]);
  });

  it('a share may be the last of a device, and among equal shares goes where less memory is free', () => {
    const gpus = [device('a'), device('b', 90)];
    const halves = (onA: number, onB: number) => ({
      gpus: [
        { id: 'a', share: 0.5, memory: onA },
        { id: 'b', share: 0.5, memory: onB },
      ],
    });
    const half = estimate({ gpu: { count: 1, share: 0.5, memory: 10, models: [] } });
    expect(on(ask(half, { gpus }, halves(50, 20)))).toEqual([{ id: 'a', share: 0.5, memory: 10 }]);
    expect(on(ask(half, { gpus }, halves(20, 50)))).toEqual([{ id: 'b', share: 0.5, memory: 10 }]);
  });

  it('a whole device is the smallest that will do, must be empty, and is granted with all its memory', () => {
    const gpus = [device('a', 300), device('b', 200), device('c', 100)];
    const holds = { gpus: [{ id: 'c', share: 0.1, memory: 1 }] };
    expect(on(ask(whole, { gpus }, holds))).toEqual([{ id: 'b', share: 1, memory: 200 }]);
    const large = estimate({ gpu: { count: 1, share: 1, memory: 250, models: [] } });
    expect(on(ask(large, { gpus }))).toEqual([{ id: 'a', share: 1, memory: 300 }]);
  });

  it('are chosen otherwise by whoever knows better', () => {
    const gpus = [device('a'), device('b'), device('c')];
    const answer = verdict(demandOf(shared), machineOf(capacity({ gpus })), (room) => room.slice(-1));
    expect(on(answer)).toEqual([{ id: 'c', share: 0.5, memory: 50 }]);
  });

  it.each([
    ['too few', [device('a')], { count: 2, share: 1, models: [] }, 'capacity.gpu-count'],
    ['none of the model', [device('a')], { count: 1, share: 1, models: ['A100'] }, 'capacity.gpu-model'],
    ['none large enough', [device('a')], { count: 1, share: 0.1, memory: 101, models: ['t4'] }, 'capacity.gpu-memory'],
  ])('rejects with %s', (_, gpus, gpu, code) => {
    const answer = ask(estimate({ gpu }), { gpus });
    expect([answer.kind, reasonOf(answer)?.code]).toEqual(['REJECT', code]);
  });

  it('waits while too few are free', () => {
    const answer = ask(whole, { gpus: [device('a')] }, { gpus: [{ id: 'a', share: 0.1, memory: 1 }] });
    expect([answer.kind, reasonOf(answer)?.code]).toEqual(['WAIT', 'capacity.gpu-free']);
  });

  it('takes parts that somebody else has chosen as they are', () => {
    const gpus = [device('g0')];
    const part = (share: number, memory: number, id = 'g0') => estimate({}, { devices: [{ id, share, memory }] });
    const holds = { gpus: [{ id: 'g0', share: 0.5, memory: 50 }] };
    expect(on(ask(part(0.5, 50), { gpus }, holds))).toEqual([{ id: 'g0', share: 0.5, memory: 50 }]);
    expect(reasonOf(ask(part(0.6, 1), { gpus }, holds))?.message).toBe('gpu g0 share: asked 0.6, 0.5 of 1 free');
    expect(reasonOf(ask(part(0.5, 60), { gpus }, holds))?.message).toBe('gpu g0 memory: asked 60, 50 of 100 free');
    expect(ask(part(1, 1, 'g1'), { gpus })).toMatchObject({
      kind: 'REJECT',
      reason: { code: 'capacity.gpu-device', message: 'gpu g1: not on this machine' },
    });
  });

  it('G-25 reduces a batch on parts that were chosen beforehand, but for all of a whole device', () => {
    const gpus = [device('g0'), device('g1', 80)];
    const parts = (share: number): Estimate =>
      estimate(
        {},
        {
          devices: [
            { id: 'g0', share, memory: share < 1 ? 10 : 100 },
            { id: 'g1', share: 0.5, memory: 20 },
          ],
          batch: { size: 20, min: 3, memoryPerItem: 0, gpuMemoryPerItem: 2 },
        },
      );
    const holds = { gpus: [{ id: 'g0', share: 0.3, memory: 60 }] };
    expect(ask(parts(0.5), { gpus })).toMatchObject({ kind: 'GRANT', contract: { batchSize: 20 } });
    expect(ask(parts(0.5), { gpus }, holds)).toEqual({
      kind: 'REDUCE_BATCH',
      asked: 20,
      contract: held({
        batchSize: 15,
        gpus: [
          { id: 'g0', share: 0.5, memory: 40 },
          { id: 'g1', share: 0.5, memory: 50 },
        ],
      }),
    });
    expect(ask(parts(0.5), { gpus }, { gpus: [{ id: 'g0', share: 0.3, memory: 85 }] }).kind).toBe('WAIT');
    expect(ask(parts(0.5), { gpus: [device('g0', 15), device('g1')] }).kind).toBe('REJECT');
    expect(ask(parts(1), { gpus: [device('g0'), device('g1', 50)] })).toMatchObject({
      kind: 'REDUCE_BATCH',
      contract: { batchSize: 15, gpus: [{ memory: 100 }, { memory: 50 }] },
    });
  });

  it('sums the parts of a device that is named twice', () => {
    const devices = [device('g0'), device('g0')].map(({ id }) => ({ id, share: 0.6, memory: 10 }));
    expect(ask(estimate({}, { devices }), { gpus: [device('g0')] }).kind).toBe('REJECT');
  });
});

describe('contracts', () => {
  const needs = fc.record({
    cpu: fc.integer({ min: 0, max: 5000 }).map((milli) => milli / 1000),
    memory: fc.integer({ min: 0, max: 1200 }),
    disk: fc.integer({ min: 0, max: 300 }),
    ioSlots: fc.integer({ min: 0, max: 2 }),
    gpu: fc.record(
      {
        count: fc.integer({ min: 1, max: 2 }),
        share: fc.integer({ min: 1, max: 1000 }).map((milli) => milli / 1000),
        memory: fc.integer({ min: 0, max: 120 }),
        models: fc.constantFrom([], ['t4'], ['A100', 'T4']),
      },
      { requiredKeys: ['count', 'share', 'models'] },
    ),
  });
  const batches = fc
    .record({
      size: fc.integer({ min: 1, max: 20 }),
      min: fc.integer({ min: 1, max: 20 }),
      memoryPerItem: fc.integer({ min: 0, max: 100 }),
      gpuMemoryPerItem: fc.integer({ min: 0, max: 20 }),
    })
    .map((one) => ({ ...one, min: Math.min(one.min, one.size) }));
  const estimates = fc
    .tuple(needs, fc.boolean(), fc.option(batches, { nil: undefined }))
    .map(([{ gpu, ...rest }, withGpu, more]) =>
      estimate({ ...rest, ...(withGpu && { gpu }) }, more ? { batch: more } : {}),
    );

  it('G-04 G-05 G-06 G-07 G-08 are what the ledger of a node would take, and WAIT or REJECT is never out of caution', () => {
    const has = capacity({ gpus: [device('a'), device('b', 60, 'A100')] });
    const inventory = { ...has, os: '', architecture: 'x64', applications: [], packages: [], labels: {} } as Inventory;
    fc.assert(
      fc.property(fc.array(estimates, { maxLength: 8 }), (all) => {
        const granted: Contract[] = [];
        for (const one of all) {
          const answer = verdict(demandOf(one), machineOf(has, granted));
          if ('contract' in answer) {
            expect(shortages(freeCapacity(inventory, granted), answer.contract)).toEqual([]);
            granted.push(answer.contract);
            if (answer.kind === 'REDUCE_BATCH') {
              const least = answer.contract.batchSize ?? 0;
              const more = { ...one, batch: { ...one.batch!, min: least + 1 } };
              expect(verdict(demandOf(more), machineOf(has, granted.slice(0, -1))).kind).toMatch(/WAIT|REJECT/);
            }
          } else {
            const empty = verdict(demandOf(one), machineOf(has));
            expect(empty.kind === 'REJECT').toBe(answer.kind === 'REJECT');
            expect(answer.reason.message).not.toBe('');
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('G-04 G-05 G-06 G-07 G-08 are those of the control plane, which takes the fullest device too without jobs to come', () => {
    const has = capacity({ gpus: [device('a'), device('b', 60, 'A100'), device('c')] });
    const noMix = { typical: [] };
    fc.assert(
      fc.property(fc.array(estimates, { maxLength: 8 }), (all) => {
        const granted: Contract[] = [];
        for (const one of all) {
          // What placement needs to know of a node and of a job is what the governor takes, as it is.
          const machine = machineOf(has, granted);
          const answer = verdict(demandOf(one), machine);
          expect(contractFor(demandOf(one), machine)).toEqual('contract' in answer ? answer.contract : undefined);
          const placed = chooseContract(machine as ClusterNode, demandOf(one) as Demand, noMix);
          expect('contract' in answer ? answer.contract : undefined).toEqual(placed);
          if (placed) granted.push(placed);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
