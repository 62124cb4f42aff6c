import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseDuration } from '#contracts';
import type { AgentOptions } from '../options.js';
import { laneFlags } from './lane-flags.js';
import { BadConfig, readConfig } from './read-config.js';

export const USAGE = `usage: agent [--url URL] [--data DIR] [--name NAME] [--institution I] [--owner O]
             [--config FILE] [--token-file FILE] [--lane LANE]... [--drain TIME | --detach]
             [--log-level LEVEL]

  --url          the control plane, default $ESCALON_URL or http://127.0.0.1:8080
  --data         folder for identity, journal, cache and tasks, default $ESCALON_DATA/agent or .escalon/agent
  --name         the node's name, default from the host's name
  --token-file   file with the enrolment token, else $ESCALON_TOKEN; only needed the first time
  --config       YAML or JSON: overrides of the inventory, probes, labels, policy, limits
  --lane         how executions wait for room that need devices (gpu), I/O slots (io) or neither (cpu): fifo,
                 priority or backfill, and how many run at once, as gpu=fifo:2; default backfill without a limit
  --exit-with-parent  end when standard input ends, as after SIGTERM
  --drain        on SIGTERM take nothing new and give running tasks so long to finish, default 20s; a second
                 SIGTERM ends them at once
  --detach       on SIGTERM leave tasks running; the next agent on the same data takes them back
`;

export interface CommandLine {
  readonly options: AgentOptions;
  readonly logLevel: string;
  /** End when standard input ends: whoever started this process is gone. */
  readonly exitWithParent: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const OPTIONS = {
  url: { type: 'string' },
  data: { type: 'string' },
  name: { type: 'string' },
  institution: { type: 'string' },
  owner: { type: 'string' },
  config: { type: 'string' },
  lane: { type: 'string', multiple: true },
  'token-file': { type: 'string' },
  detach: { type: 'boolean' },
  drain: { type: 'string' },
  'exit-with-parent': { type: 'boolean' },
  'log-level': { type: 'string' },
  help: { type: 'boolean' },
} as const;

/** Options from flags, else the configuration file, else the environment, else defaults; undefined when help is asked for. */
export const readCommandLine = async (args: readonly string[], env: Environment): Promise<CommandLine | undefined> => {
  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: true });
  if (values.help) return undefined;
  const file = values.config === undefined ? {} : await readConfig(values.config);
  const token = values['token-file'] === undefined ? env['ESCALON_TOKEN'] : await readToken(values['token-file']);
  const name = values.name ?? file.name ?? nodeName(hostname());
  const url = values.url ?? file.url ?? env['ESCALON_URL'] ?? 'http://127.0.0.1:8080';
  const drain = values.drain === undefined ? undefined : parseDuration(values.drain);
  const { lanes, mistakes: wrongLanes } = laneFlags(values.lane ?? [], file.lanes);
  const mistakes = [
    ...wrongLanes,
    ...(drain?.ok === false ? [`drain: ${drain.message}`] : []),
    ...(drain !== undefined && values.detach ? ['drain and detach: only one of them'] : []),
    ...(NAME.test(name) ? [] : [`name ${name}: lower-case letters, digits and dashes, at most 63`]),
    ...(/^https?:/.test(url) && URL.canParse(url) ? [] : [`url ${url}: no http or https address`]),
  ];
  if (mistakes.length > 0) throw new BadConfig('the command line', mistakes);
  const options: AgentOptions = {
    ...file,
    url,
    name,
    data: resolve(values.data ?? file.data ?? `${env['ESCALON_DATA'] ?? '.escalon'}/agent`),
    ...(values.institution !== undefined && { institution: values.institution }),
    ...(values.owner !== undefined && { owner: values.owner }),
    ...(token !== undefined && { token }),
    ...(values.lane && { lanes }),
    ...(values.detach && { detach: true }),
    ...(drain?.ok && { drain: drain.value * 1000, detach: false }),
  };
  const logLevel = values['log-level'] ?? env['ESCALON_LOG_LEVEL'] ?? 'info';
  return { options, logLevel, exitWithParent: values['exit-with-parent'] ?? false };
};

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A node name from a host's name: its first part, with dashes for what a name may not hold. */
export const nodeName = (host: string): string =>
  (host.split('.')[0] ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '') || 'node';

const readToken = async (path: string): Promise<string> => (await readFile(path, 'utf8')).trim();
