import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import type { ErrorObject } from 'ajv';
import { parse } from 'yaml';
import { parseBytes, parseDuration } from '#contracts';
import type { Parsed, Policy } from '#contracts';
import { messageOf } from '../client/errors.js';
import type { ContainerOptions } from '../containers/containers.js';
import type { LaneChoices } from '../executions/lanes.js';
import { isAddressRange } from '../inputs/address-policy.js';
import type { Probe } from '../inventory/software.js';
import type { AgentOptions, LimitOptions } from '../options.js';
import { LEAST_LOG } from '../runner/log-keeper.js';
import { CONFIG_SCHEMA } from './config-schema.js';

/** A configuration that cannot be used, with every mistake in it. */
export class BadConfig extends Error {
  constructor(source: string, mistakes: readonly string[]) {
    super([`${source}:`, ...mistakes].join('\n  '));
    this.name = 'BadConfig';
  }
}

type Quantity = string | number;

interface ConfigFile {
  readonly url?: string;
  readonly data?: string;
  readonly name?: string;
  readonly owner?: string;
  readonly institution?: string;
  readonly os?: string;
  readonly architecture?: string;
  readonly cpu?: number;
  readonly memory?: Quantity;
  readonly disk?: Quantity;
  readonly ioSlots?: number;
  readonly gpus?: readonly { readonly id: string; readonly model: string; readonly memory: Quantity }[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly applications?: readonly { readonly name: string; readonly version: string }[];
  readonly packages?: readonly { readonly name: string; readonly version: string }[];
  readonly probes?: {
    readonly applications?: readonly Probe[];
    readonly packages?: readonly Probe[];
    readonly python?: boolean;
    readonly timeout?: Quantity;
  };
  readonly policy?: Omit<Policy, 'maxDuration'> & { readonly maxDuration?: Quantity };
  readonly grace?: Quantity;
  readonly drain?: Quantity;
  readonly detach?: boolean;
  readonly taskUser?: string;
  readonly limits?: LimitOptions;
  readonly lanes?: LaneChoices;
  readonly containers?: ContainerOptions;
  readonly logLimit?: Quantity;
  readonly cacheLimit?: Quantity;
  readonly largestInput?: Quantity;
  readonly largestUnpacked?: Quantity;
  readonly mostUnpacked?: number;
  readonly allowHttp?: boolean;
  readonly allowAddresses?: readonly string[];
  readonly authorities?: string;
}

/** Reads a YAML or JSON configuration file. */
export const readConfig = async (path: string): Promise<Partial<AgentOptions>> =>
  parseConfig(await readFile(path, 'utf8'), path);

/** Parses a configuration; throws `BadConfig` with all mistakes at once. `source` names it in the message. */
export const parseConfig = (text: string, source: string): Partial<AgentOptions> => {
  let config: unknown;
  try {
    config = parse(text) ?? {};
  } catch (error) {
    throw new BadConfig(source, [messageOf(error)]);
  }
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, formats: { regex: isPattern } });
  const mistakes = ajv.validate(CONFIG_SCHEMA, config) ? [] : (ajv.errors ?? []).map(describe);
  const quantities = new Quantities();
  const options = mistakes.length === 0 ? toOptions(config as ConfigFile, quantities) : {};
  mistakes.push(...quantities.mistakes, ...wrongRanges(options.allowAddresses ?? []), ...tooSmall(options.logLimit));
  mistakes.push(...pathOfNobody(options.containers));
  if (mistakes.length > 0) throw new BadConfig(source, mistakes);
  return options;
};

const isPattern = (pattern: string): boolean => {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
};

const describe = ({ instancePath, message, params }: ErrorObject): string => {
  const told: unknown = 'additionalProperty' in params ? [params['additionalProperty']] : params['allowedValues'];
  const extra = Array.isArray(told) ? `: ${told.join(', ')}` : '';
  return `${instancePath || '/'} ${message ?? 'is wrong'}${extra}`;
};

const wrongRanges = (ranges: readonly string[]): string[] =>
  ranges.flatMap((range, index) =>
    isAddressRange(range) ? [] : [`/allowAddresses/${index}: "${range}" is no address range, as 127.0.0.0/8 is one`],
  );

const pathOfNobody = ({ engine = 'auto', path }: ContainerOptions = {}): string[] =>
  path !== undefined && (engine === 'auto' || engine === 'none')
    ? ['/containers/path: is the path of an engine, so engine has to name it: podman or docker']
    : [];

const tooSmall = (logLimit = LEAST_LOG): string[] =>
  logLimit >= LEAST_LOG ? [] : [`/logLimit: ${logLimit} bytes, at least ${LEAST_LOG} are needed`];

/** Reads quantities and keeps the mistakes met. */
class Quantities {
  readonly mistakes: string[] = [];

  size(path: string, value: Quantity): number {
    return this.checked(path, parseBytes(value));
  }

  seconds(path: string, value: Quantity): number {
    return this.checked(path, parseDuration(value));
  }

  private checked(path: string, parsed: Parsed<number>): number {
    if (parsed.ok) return parsed.value;
    this.mistakes.push(`${path}: ${parsed.message}`);
    return 0;
  }
}

/** The entries whose value is there, as `exactOptionalPropertyTypes` wants them. */
const present = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

type SizeKey = 'memory' | 'disk' | 'logLimit' | 'cacheLimit' | 'largestInput' | 'largestUnpacked';

const toOptions = (file: ConfigFile, quantities: Quantities): Partial<AgentOptions> => {
  const size = (key: SizeKey): number | undefined =>
    file[key] === undefined ? undefined : quantities.size(`/${key}`, file[key]);
  const millis = (path: string, value: Quantity | undefined): number | undefined =>
    value === undefined ? undefined : quantities.seconds(path, value) * 1000;
  const { url, data, name, owner, institution, allowHttp, taskUser, allowAddresses, authorities } = file;
  const { limits, lanes, containers } = file;
  const { os, architecture, cpu, ioSlots, labels, applications, packages } = file;
  const gpus = file.gpus?.map((gpu, index) => ({
    ...gpu,
    memory: quantities.size(`/gpus/${index}/memory`, gpu.memory),
  }));
  const found = { os, architecture, cpu, memory: size('memory'), disk: size('disk'), ioSlots, gpus, labels };
  const probes = file.probes && { ...file.probes, timeout: millis('/probes/timeout', file.probes.timeout) };
  return present({
    url,
    data,
    name,
    owner,
    institution,
    allowHttp,
    taskUser,
    limits,
    lanes,
    containers,
    allowAddresses,
    authorities,
    inventory: present({ ...found, applications, packages }),
    probes: probes && present(probes),
    policy: file.policy && toPolicy(file.policy, quantities),
    grace: millis('/grace', file.grace),
    drain: millis('/drain', file.drain),
    detach: file.detach,
    logLimit: size('logLimit'),
    cacheLimit: size('cacheLimit'),
    largestInput: size('largestInput'),
    largestUnpacked: size('largestUnpacked'),
    mostUnpacked: file.mostUnpacked,
  });
};

const toPolicy = ({ maxDuration, ...rest }: NonNullable<ConfigFile['policy']>, quantities: Quantities): Policy => ({
  ...rest,
  ...(maxDuration !== undefined && { maxDuration: quantities.seconds('/policy/maxDuration', maxDuration) }),
});
