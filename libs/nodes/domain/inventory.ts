/** One GPU as the agent found it. `id` is unique on the node and stable; `memory` in bytes. */
export interface GpuDevice {
  readonly id: string;
  readonly model: string;
  readonly memory: number;
}

/** An installed application or package with the version it reports. */
export interface InstalledSoftware {
  readonly name: string;
  readonly version: string;
}

/** Programs that run containers. */
export const CONTAINER_ENGINES = ['docker', 'podman'] as const;

/** One that the agent has tried and found usable. */
export interface ContainerEngine {
  readonly engine: (typeof CONTAINER_ENGINES)[number];
  readonly version: string;
}

/**
 * What a node has. `cpu` in cores (steps of 0.001), `memory` and `disk` in bytes, `ioSlots` as a count of concurrent
 * heavy readers or writers. `architecture` is folded (`x64`, `arm64`, …) before it is stored.
 */
export interface Inventory {
  readonly os: string;
  readonly architecture: string;
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpus: readonly GpuDevice[];
  readonly applications: readonly InstalledSoftware[];
  readonly packages: readonly InstalledSoftware[];
  readonly labels: Readonly<Record<string, string>>;
  /** Absent where there is none, or its owner does not lend it. */
  readonly container?: ContainerEngine;
}
