import { DISCIPLINES, LANES } from '../executions/lanes.js';

const size = { type: ['string', 'number'] } as const;
const text = { type: 'string', minLength: 1 } as const;
const texts = { type: 'object', additionalProperties: { type: 'string' } } as const;
const names = { type: 'array', items: text } as const;

const software = {
  type: 'array',
  items: {
    type: 'object',
    required: ['name', 'version'],
    additionalProperties: false,
    properties: { name: text, version: text },
  },
} as const;

const probes = {
  type: 'array',
  items: {
    type: 'object',
    required: ['name', 'command'],
    additionalProperties: false,
    properties: {
      name: text,
      command: { type: 'array', items: { type: 'string' }, minItems: 1 },
      pattern: { type: 'string', format: 'regex' },
    },
  },
} as const;

const accessList = {
  type: 'object',
  additionalProperties: false,
  properties: { institutions: names, projects: names, accounts: names, applications: names },
} as const;

const policy = {
  type: 'object',
  additionalProperties: false,
  properties: {
    allow: accessList,
    deny: accessList,
    windows: { type: 'array', items: { type: 'object' } },
    maintenance: { type: 'array', items: { type: 'object' } },
    maxDuration: { type: ['number', 'string'] },
    maxShare: { type: 'object', additionalProperties: { type: 'number', minimum: 0, maximum: 1 } },
    price: { type: 'object', additionalProperties: { type: 'number', minimum: 0 } },
  },
} as const;

const lane = {
  type: 'object',
  additionalProperties: false,
  properties: { discipline: { enum: DISCIPLINES }, workers: { type: 'integer', minimum: 1 } },
} as const;

/** The agent's configuration file. Sizes and durations are checked apart, as they have a grammar of their own. */
export const CONFIG_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    url: text,
    data: text,
    name: { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' },
    owner: text,
    institution: text,
    os: text,
    architecture: text,
    cpu: { type: 'number', exclusiveMinimum: 0 },
    memory: size,
    disk: size,
    ioSlots: { type: 'integer', minimum: 0 },
    gpus: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'model', 'memory'],
        additionalProperties: false,
        properties: { id: text, model: text, memory: size },
      },
    },
    labels: texts,
    applications: software,
    packages: software,
    probes: {
      type: 'object',
      additionalProperties: false,
      properties: { applications: probes, packages: probes, python: { type: 'boolean' }, timeout: size },
    },
    policy,
    grace: size,
    drain: size,
    detach: { type: 'boolean' },
    taskUser: { type: 'string', pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]*$' },
    limits: {
      type: 'object',
      additionalProperties: false,
      properties: {
        enforce: { enum: ['auto', 'cgroup', 'watchdog', 'none'] },
        processes: { type: 'integer', minimum: 1 },
        cgroup: { type: 'string', pattern: '^/' },
        cpu: { enum: ['share', 'ceiling'] },
      },
    },
    lanes: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(LANES.map((name) => [name, lane])),
    },
    containers: {
      type: 'object',
      additionalProperties: false,
      properties: {
        engine: { enum: ['auto', 'podman', 'docker', 'none'] },
        path: { type: 'string', pattern: '^/' },
        pull: { enum: ['missing', 'always', 'never'] },
        network: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_.:=,/-]*$' },
      },
    },
    logLimit: size,
    cacheLimit: size,
    largestInput: size,
    largestUnpacked: size,
    mostUnpacked: { type: 'integer', minimum: 1 },
    allowHttp: { type: 'boolean' },
    allowAddresses: { type: 'array', items: text },
    authorities: text,
  },
} as const;
