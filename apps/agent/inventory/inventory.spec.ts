import { tmpdir } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import type { Inventory } from '#contracts';
import { cgroupLimits, parseCpuMax, parseLimit } from './cgroup.js';
import { detectInventory } from './detect.js';
import { parseGpus } from './gpus.js';
import { hasChanged } from './inventory-watch.js';
import { parsePip } from './python-packages.js';
import { probeSoftware, versionIn } from './software.js';

const GIB = 2 ** 30;

describe('the machine', () => {
  it('reads GPUs from nvidia-smi', () => {
    const csv = 'GPU-1a, NVIDIA A100-SXM4-40GB, 40960\nGPU-2b, Tesla V100, 16384\n\nNo devices were found\n';
    expect(parseGpus(csv)).toEqual([
      { id: 'GPU-1a', model: 'NVIDIA A100-SXM4-40GB', memory: 40 * GIB },
      { id: 'GPU-2b', model: 'Tesla V100', memory: 16 * GIB },
    ]);
  });

  it('takes overrides for everything and asks nothing then', async () => {
    const given: Inventory = {
      os: 'linux',
      architecture: 'x64',
      cpu: 64,
      memory: 256 * GIB,
      disk: 100 * GIB,
      ioSlots: 8,
      gpus: [{ id: 'fake-0', model: 'A100', memory: 40 * GIB }],
      applications: [{ name: 'node', version: '24.1.0' }],
      packages: [{ name: 'numpy', version: '1.26.4' }],
      labels: { rack: 'a1' },
    };
    expect(await detectInventory(tmpdir(), given, {}, false)).toEqual(given);
  });

  it('is worth telling when it changed, not when a little disk was used', () => {
    const known = { cpu: 4, disk: 100 * GIB, labels: {} } as unknown as Inventory;
    expect(hasChanged(known, { ...known, disk: 90 * GIB })).toBe(false);
    expect(hasChanged(known, { ...known, disk: 70 * GIB })).toBe(true);
    expect(hasChanged(known, { ...known, cpu: 5 })).toBe(true);
    expect(hasChanged(known, { ...known, labels: { a: 'b' } })).toBe(true);
  });
});

describe('cgroup limits', () => {
  const files = (content: Record<string, string>) => (path: string) => content[path];

  it('parses both forms', () => {
    expect(parseCpuMax('150000 100000')).toBe(1.5);
    expect(parseCpuMax('max 100000')).toBeUndefined();
    expect(parseCpuMax('-1 100000')).toBeUndefined();
    expect(parseLimit('9223372036854771712')).toBeUndefined();
    expect(parseLimit('max')).toBeUndefined();
    expect(parseLimit('1073741824\n')).toBe(GIB);
  });

  it('version 2: the strictest limit on the way up holds', () => {
    const read = files({
      '/proc/self/cgroup': '0::/system.slice/agent.service\n',
      '/sys/fs/cgroup/system.slice/agent.service/cpu.max': 'max 100000',
      '/sys/fs/cgroup/system.slice/cpu.max': '200000 100000',
      '/sys/fs/cgroup/system.slice/agent.service/memory.max': '4294967296',
      '/sys/fs/cgroup/system.slice/memory.max': '8589934592',
    });
    expect(cgroupLimits(read)).toEqual({ cpu: 2, memory: 4 * GIB });
  });

  it('version 1', () => {
    const read = files({
      '/proc/self/cgroup': '4:memory:/docker/x\n1:cpu,cpuacct:/docker/x\n0::/\n',
      '/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us': '50000\n',
      '/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us': '100000\n',
      '/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes': '1073741824\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    });
    expect(cgroupLimits(read)).toEqual({ cpu: 0.5, memory: GIB });
  });

  it('none', () => expect(cgroupLimits(() => undefined)).toEqual({ cpu: undefined, memory: undefined }));
});

describe('software', () => {
  it.each([
    ['Python 3.11.2\n', undefined, '3.11.2'],
    ['openjdk version "17.0.9" 2023-10-17', undefined, '17.0.9'],
    ['GNU bash, version 5.2.15(1)-release', undefined, '5.2.15'],
    ['v24.1.0-rc.1\n', 'v(\\S+)', '24.1.0-rc.1'],
    ['no version here', undefined, undefined],
  ])('%j says %s', (output, pattern, expected) => expect(versionIn(output, pattern)).toBe(expected));

  it('probes commands, and leaves out those that fail or are not there', async () => {
    const probes = [
      { name: 'node', command: ['node', '--version'], pattern: 'v(\\S+)' },
      { name: 'broken', command: ['sh', '-c', 'echo 1.2.3; exit 1'] },
      { name: 'absent', command: ['no-such-program'] },
    ];
    expect(await probeSoftware(probes, 20_000)).toEqual([{ name: 'node', version: process.versions.node }]);
  });

  it('reads pip’s list', () => {
    const output = 'WARNING: old\n[{"name": "NumPy", "version": "1.26.4"}]\n[notice] a new release of pip\n';
    expect(parsePip(output)).toEqual([{ name: 'numpy', version: '1.26.4' }]);
    expect(parsePip('No module named pip')).toEqual([]);
  });
});
