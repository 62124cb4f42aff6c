import type { Policy } from '#contracts';
import type { Clock, Ids, Random, Timers } from '#kernel';
import type { Logger } from 'pino';
import type { ContainerOptions } from './containers/containers.js';
import type { LaneChoices } from './executions/lanes.js';
import type { Enforcement } from './executions/limits.js';
import type { InventoryOverrides, ProbeOptions } from './inventory/detect.js';

export interface LimitOptions {
  /** Default `auto`: control groups where they can be had, else the watchdog. */
  readonly enforce?: Enforcement | 'auto';
  /** Processes that a task may have at a time; default 4 096. */
  readonly processes?: number;
  /** The folder of the control group that was delegated to the agent; default the agent's own, when it is alone in it. */
  readonly cgroup?: string;
  /** Whether a contract's cores are a ceiling under control groups, or a share of a busy machine; default `share`. */
  readonly cpu?: 'share' | 'ceiling';
}

/** What an agent needs to know. Only `url`, `data` and `name` have no default. */
export interface AgentOptions {
  /** The control plane's base address, without `/v1`: all that the agent ever has to reach. */
  readonly url: string;
  /** Folder for identity, journal, cache and tasks; of one agent only. */
  readonly data: string;
  /** The node's name: lower-case letters, digits and dashes, at most 63. */
  readonly name: string;
  /** Account that owns the machine; default `operator`. */
  readonly owner?: string;
  /** Default `local`. */
  readonly institution?: string;
  /** The enrolment token; needed once, for a name not enrolled yet. */
  readonly token?: string;
  readonly policy?: Policy;
  readonly inventory?: InventoryOverrides;
  readonly probes?: ProbeOptions;
  /** Milliseconds between asking a task to end and killing it; default 5 000. */
  readonly grace?: number;
  /** The user that tasks run as; default the agent's own. Only an agent that runs as root may have another. */
  readonly taskUser?: string;
  /** How tasks are held to their contracts. */
  readonly limits?: LimitOptions;
  /** How executions that wait for room are ordered, and how many of a kind run at once. */
  readonly lanes?: LaneChoices;
  /** The engine for tasks that bring an image, and how it is used. */
  readonly containers?: ContainerOptions;
  /** Bytes of each output stream kept on disk and sent at most, 4 096 or more; default 64 MiB. */
  readonly logLimit?: number;
  /** Bytes that the input cache may keep; default 20 GiB. */
  readonly cacheLimit?: number;
  /** Bytes of one input at most; default 50 GiB. */
  readonly largestInput?: number;
  /** Bytes that one archive may unpack to at most; default 100 GiB. What is left of the contract's disk bounds it too. */
  readonly largestUnpacked?: number;
  /** Files, folders and links that one archive may hold at most; default 1 000 000. */
  readonly mostUnpacked?: number;
  /** Whether inputs may come over plain `http:`; default false. */
  readonly allowHttp?: boolean;
  /** Address ranges that inputs may come from although they are this machine's, its link's or a metadata service's. */
  readonly allowAddresses?: readonly string[];
  /** File of certificate authorities (PEM) to trust for inputs, beside those of the system. */
  readonly authorities?: string;
  /** Whether the agent's end leaves tasks running for the next agent on the same data; default false. */
  readonly detach?: boolean;
  /** Milliseconds that running tasks get to finish when the agent is told to end and does not detach; default 20 000. */
  readonly drain?: number;
  /** Milliseconds to wait for another agent on the same folder to end; default 60 000. */
  readonly folderWait?: number;
  /** Default: no log. */
  readonly log?: Logger;
  /** Default: the system's own. */
  readonly ports?: { readonly clock?: Clock; readonly timers?: Timers; readonly random?: Random; readonly ids?: Ids };
}
