import { statfs } from 'node:fs/promises';
import { arch, availableParallelism, freemem, platform, totalmem } from 'node:os';
import type { Inventory } from '#contracts';
import { cgroupLimits } from './cgroup.js';
import { detectGpus } from './gpus.js';
import { pythonPackages } from './python-packages.js';
import { DEFAULT_PROBES, probeSoftware } from './software.js';
import type { Probe } from './software.js';

/** What the node's owner sets by hand: each stands in place of what would be found. */
export type InventoryOverrides = Partial<Omit<Inventory, 'labels'>> & {
  readonly labels?: Readonly<Record<string, string>>;
};

export interface ProbeOptions {
  readonly applications?: readonly Probe[];
  readonly packages?: readonly Probe[];
  /** Whether Python's packages are listed (`pip list`); takes a second or two of a core. */
  readonly python?: boolean;
  /** Milliseconds that one probe may take. */
  readonly timeout?: number;
}

const PROBE_TIMEOUT = 5_000;
const PIP_TIMEOUT = 20_000;
/** Disk is told in steps, so that ordinary writing does not make a new inventory each time. */
const DISK_STEP = 2 ** 30;

/** Looks at the machine. `quick`, for the first enrolment, takes what needs long from the last look: Python's packages. */
export const detectInventory = async (
  data: string,
  overrides: InventoryOverrides,
  probes: ProbeOptions,
  quick: boolean,
): Promise<Inventory> => {
  const timeout = probes.timeout ?? PROBE_TIMEOUT;
  const limits = cgroupLimits();
  const cores = availableParallelism();
  const python = probes.python === false ? [] : pythonPackages(data, PIP_TIMEOUT, quick);
  const [disk, gpus, applications, packages, pip] = await Promise.all([
    overrides.disk ?? freeDisk(data).then((bytes) => Math.floor(bytes / DISK_STEP) * DISK_STEP),
    overrides.gpus ?? detectGpus(timeout),
    overrides.applications ?? probeSoftware(probes.applications ?? DEFAULT_PROBES, timeout),
    overrides.packages ?? probeSoftware(probes.packages ?? [], timeout),
    overrides.packages ? [] : python,
  ]);
  return {
    os: overrides.os ?? platform(),
    architecture: overrides.architecture ?? arch(),
    cpu: overrides.cpu ?? Math.round(Math.min(cores, limits.cpu ?? cores) * 1000) / 1000,
    memory: overrides.memory ?? Math.min(totalmem(), limits.memory ?? Number.POSITIVE_INFINITY),
    disk,
    ioSlots: overrides.ioSlots ?? Math.max(2, cores),
    gpus,
    applications: sorted(applications),
    packages: sorted([...packages, ...pip]),
    labels: overrides.labels ?? {},
  };
};

/** Bytes that this user may still write in a folder's file system. */
export const freeDisk = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

export const freeMemory = freemem;

const sorted = <T extends { readonly name: string; readonly version: string }>(list: readonly T[]): T[] =>
  [...list].sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
