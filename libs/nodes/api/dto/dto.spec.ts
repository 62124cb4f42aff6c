import { describe, expect, it } from '@jest/globals';
import {
  parseCache,
  parseDrain,
  parseEnrollment,
  parseHeartbeat,
  parseInventory,
  parsePolicy,
  parsePool,
  parseReason,
} from './index.js';

interface Answer {
  readonly ok: boolean;
  readonly errors?: readonly { readonly pointer: string; readonly code: string }[];
}

const mistakes = (parsed: Answer): readonly string[] =>
  (parsed.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`);

const inventory = {
  os: 'linux',
  architecture: 'x86_64',
  cpu: 16,
  memory: '64GiB',
  disk: 1e12,
  ioSlots: 4,
  gpus: [{ id: 'GPU-1', model: 'A100', memory: '40GiB' }],
  applications: [{ name: 'node', version: '24.1.0' }],
  packages: [{ name: 'numpy', version: '1.26.4' }],
  labels: { region: 'br' },
};
const stored = {
  ...inventory,
  architecture: 'x64',
  memory: 68719476736,
  gpus: [{ id: 'GPU-1', model: 'A100', memory: 42949672960 }],
};

describe('an inventory', () => {
  it('A-03 A-29 A-30 is stored in bytes, with the architecture by its one name', () => {
    expect(parseInventory(inventory)).toStrictEqual({ ok: true, value: stored });
    expect(parseInventory(stored)).toStrictEqual({ ok: true, value: stored });
  });

  it('tells of a container engine, if there is one', () => {
    const container = { engine: 'podman', version: '4.3.1' };
    expect(parseInventory({ ...inventory, container })).toStrictEqual({ ok: true, value: { ...stored, container } });
    expect(mistakes(parseInventory({ ...inventory, container: { engine: 'lxc' } }))).toEqual([
      '/container/engine NOT_ALLOWED',
      '/container/version REQUIRED',
    ]);
  });

  it('lists may be absent', () => {
    const bare = { os: 'darwin', architecture: 'arm64', cpu: 7.99961, memory: 1, disk: 0, ioSlots: 0 };
    expect(parseInventory(bare)).toStrictEqual({
      ok: true,
      value: { ...bare, cpu: 8, gpus: [], applications: [], packages: [], labels: {} },
    });
  });

  it.each([
    [{ cpu: 0 }, '/cpu OUT_OF_RANGE'],
    [{ memory: 'lots' }, '/memory MALFORMED'],
    [{ gpus: [inventory.gpus[0], inventory.gpus[0]] }, '/gpus/1 DUPLICATE'],
    [{ packages: ['numpy'] }, '/packages/0 WRONG_TYPE'],
    [{ labels: { 'a b': 'x' } }, '/labels/a b MALFORMED'],
    [{ gpu: [] }, '/gpu UNKNOWN_FIELD'],
  ])('%j is refused', (fields, expected) => {
    expect(mistakes(parseInventory({ ...inventory, ...fields }))).toEqual([expected]);
  });
});

describe('a pool', () => {
  it.each<[object, readonly string[]]>([
    [{ discipline: 'fifo', nodes: ['a', 'b'] }, []],
    [{ discipline: 'backfill', where: 'rack = a1' }, []],
    [{ discipline: 'lifo', nodes: ['a'] }, ['/discipline NOT_ALLOWED']],
    [{ discipline: 'fifo' }, [' CONFLICT']],
    [{ discipline: 'fifo', nodes: ['a'], where: 'rack' }, [' CONFLICT']],
    [{ discipline: 'fifo', nodes: [] }, ['/nodes OUT_OF_RANGE']],
    [{ nodes: ['a', 'a'], more: 1 }, ['/more UNKNOWN_FIELD', '/discipline REQUIRED', '/nodes/1 DUPLICATE']],
  ])('%j has the mistakes %j', (given, expected) => {
    expect([...mistakes(parsePool(given))].sort()).toEqual([...expected].sort());
  });
});

describe('a report of the cache', () => {
  const digest = 'a'.repeat(64);

  it('A-41 is a set of digests', () => {
    expect(parseCache({ inputs: [digest, digest] })).toStrictEqual({ ok: true, value: { inputs: [digest] } });
    expect(parseCache({ inputs: [] })).toStrictEqual({ ok: true, value: { inputs: [] } });
  });

  it.each([
    [{}, '/inputs REQUIRED'],
    [{ inputs: ['A'.repeat(64)] }, '/inputs/0 MALFORMED'],
    [{ inputs: [digest.slice(1)] }, '/inputs/0 MALFORMED'],
    [{ inputs: new Array<string>(513).fill(digest) }, '/inputs TOO_LONG'],
    [{ inputs: [], files: [] }, '/files UNKNOWN_FIELD'],
  ])('%j is refused', (body, expected) => {
    expect(mistakes(parseCache(body))).toEqual([expected]);
  });
});

describe('a policy', () => {
  const policy = {
    allow: { institutions: ['usp'], projects: [], accounts: ['ana'], applications: ['node'] },
    deny: { accounts: ['mallory'] },
    windows: [{ days: ['mon', 'fri'], from: '18:00', to: '08:00', timeZone: 'America/Sao_Paulo' }],
    maxDuration: '8h',
    maxShare: { demo: 0.5 },
    price: { cpuHour: 0.02, gpuHour: 0.8, memoryGiBHour: 0.003 },
  };

  it('A-26 keeps what the owner says; an empty list stays one', () => {
    expect(parsePolicy(policy)).toStrictEqual({ ok: true, value: { ...policy, maxDuration: 28800 } });
    expect(parsePolicy({})).toStrictEqual({ ok: true, value: {} });
  });

  it('A-26 keeps maintenance, its times in UTC', () => {
    const maintenance = [{ from: '2026-12-05T03:00:00-03:00', until: '2026-12-05T12:00:00Z', reason: 'new disks' }];
    expect(parsePolicy({ maintenance })).toStrictEqual({
      ok: true,
      value: {
        maintenance: [{ from: '2026-12-05T06:00:00.000Z', until: '2026-12-05T12:00:00.000Z', reason: 'new disks' }],
      },
    });
  });

  const upkeep = (fields: object): object => ({
    maintenance: [{ from: '2026-12-05T06:00:00Z', until: '2026-12-05T12:00:00Z', reason: 'new disks', ...fields }],
  });
  const window = (fields: object): object => ({ windows: [{ ...policy.windows[0], ...fields }] });
  it.each([
    [window({ from: '24:00' }), '/windows/0/from MALFORMED'],
    [window({ to: '8:00' }), '/windows/0/to MALFORMED'],
    [window({ timeZone: 'Atlantis/Capital' }), '/windows/0/timeZone NOT_ALLOWED'],
    [window({ days: [] }), '/windows/0/days OUT_OF_RANGE'],
    [window({ days: ['monday'] }), '/windows/0/days/0 NOT_ALLOWED'],
    [window({ days: ['mon', 'mon'] }), '/windows/0/days/1 DUPLICATE'],
    [{ maxDuration: '-1h' }, '/maxDuration OUT_OF_RANGE'],
    [{ maxShare: { demo: 1.5 } }, '/maxShare/demo OUT_OF_RANGE'],
    [{ maxShare: JSON.parse('{ "__proto__": 0.5 }') as object }, '/maxShare/__proto__ RESERVED'],
    [{ price: { cpuHour: -1 } }, '/price/cpuHour OUT_OF_RANGE'],
    [{ allow: { institution: ['usp'] } }, '/allow/institution UNKNOWN_FIELD'],
    [{ allow: ['usp'] }, '/allow WRONG_TYPE'],
    [upkeep({ until: '2026-12-05T06:00:00Z' }), '/maintenance/0/until CONFLICT'],
    [upkeep({ from: '2026-12-05T13:00:00Z' }), '/maintenance/0/until CONFLICT'],
    [upkeep({ from: 'tomorrow' }), '/maintenance/0/from MALFORMED'],
    [upkeep({ until: undefined }), '/maintenance/0/until REQUIRED'],
    [upkeep({ reason: '' }), '/maintenance/0/reason OUT_OF_RANGE'],
    [upkeep({ till: 'x' }), '/maintenance/0/till UNKNOWN_FIELD'],
    [{ maintenance: {} }, '/maintenance WRONG_TYPE'],
    [{ maintenance: Array.from({ length: 101 }, () => ({})) }, '/maintenance TOO_LONG'],
  ])('%j is refused', (input, expected) => {
    const found = mistakes(parsePolicy(input));
    expect(found[0]).toBe(expected);
  });
});

describe('what an agent and an operator ask', () => {
  const enrollment = { name: 'coral-07', owner: 'bruno', institution: 'usp', inventory };

  it('an enrolment carries the inventory and perhaps a policy', () => {
    expect(parseEnrollment(enrollment)).toStrictEqual({ ok: true, value: { ...enrollment, inventory: stored } });
    const withPolicy = parseEnrollment({ ...enrollment, policy: { maxDuration: '1h' } });
    expect(withPolicy).toMatchObject({ value: { policy: { maxDuration: 3600 } } });
  });

  it('names every mistake of it at once', () => {
    const wrong = { ...enrollment, name: 'Coral_07', owner: undefined, inventory: { ...inventory, cpu: '16' } };
    expect(mistakes(parseEnrollment(wrong)).toSorted()).toEqual([
      '/inventory/cpu WRONG_TYPE',
      '/name MALFORMED',
      '/owner REQUIRED',
    ]);
  });

  it.each(['-a', 'a-', 'a.b', 'a'.repeat(64), ''])('the node name %j is refused', (name) => {
    expect(mistakes(parseEnrollment({ ...enrollment, name }))).toEqual([expect.stringMatching(/^\/name /)]);
  });

  it('A-28 a heartbeat says what the agent holds', () => {
    const beat = { executions: ['j.1'], freeMemory: '1GiB', load: 0.5 };
    expect(parseHeartbeat(beat)).toStrictEqual({ ok: true, value: { ...beat, freeMemory: 1073741824 } });
    expect(mistakes(parseHeartbeat({ executions: [7] }))).toEqual(['/executions/0 WRONG_TYPE']);
  });

  it('a drain has a reason and may have a deadline', () => {
    const drain = { reason: 'it moves', deadline: '2026-11-29T18:00:00-03:00' };
    expect(parseDrain(drain)).toEqual({
      ok: true,
      value: { reason: 'it moves', deadline: '2026-11-29T21:00:00.000Z' },
    });
    expect(parseDrain(undefined)).toStrictEqual({ ok: true, value: { reason: 'no reason given' } });
    expect(mistakes(parseDrain({ deadline: 'tomorrow' }))).toEqual(['/deadline MALFORMED']);
    expect(parseReason({ reason: 'a fan' })).toStrictEqual({ ok: true, value: { reason: 'a fan' } });
  });
});
