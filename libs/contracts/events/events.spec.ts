import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { currentVersion, EVENT_TYPES, isEventType } from './registry.js';
import { eventSchema, validateEvent } from './schemas.js';
import type { JsonSchema } from './schemas.js';
import { NewerEventVersion, upcast, upcaster, upcastRecorded } from './upcast.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
interface Golden {
  readonly id: string;
  readonly stream: string;
  readonly revision: string;
  readonly position: string;
  readonly type: string;
  readonly data: Record<string, Json>;
  readonly metadata: { readonly schemaVersion: number; readonly actor: string; readonly $correlationId: string };
}

const folder = (name: string): URL => new URL(`./${name}/`, import.meta.url);
const golden = (name: string): Golden =>
  JSON.parse(readFileSync(new URL(`${name}.json`, folder('golden')), 'utf8')) as Golden;

/** Every version that was ever written, as `Type.vN`. */
const versions = EVENT_TYPES.flatMap((type) =>
  Array.from({ length: currentVersion(type) }, (_, index) => ({
    type,
    version: index + 1,
    name: `${type}.v${index + 1}`,
  })),
);

/** What was stored with a field that a version was given after it was first written: `Type.vN.FIELD`. */
const later = readdirSync(folder('golden')).flatMap((file) => {
  const [, type, version, field] = /^(\w+)\.v(\d+)\.(\w+)\.json$/.exec(file) ?? [];
  return type && version && field ? [{ type, version: Number(version), field, name: file.replace('.json', '') }] : [];
});

const resolve = (schema: JsonSchema, root: JsonSchema): JsonSchema => {
  const name = (schema.$ref as string | undefined)?.replace('#/$defs/', '');
  return name === undefined ? schema : (root.$defs as Record<string, JsonSchema>)[name]!;
};

/** The place of every required field that the value holds, at any depth. */
const requiredPlaces = (schema: JsonSchema, value: Json, root: JsonSchema): (string | number)[][] => {
  const {
    required = [],
    properties = {},
    items,
  } = resolve(schema, root) as {
    required?: string[];
    properties?: Record<string, JsonSchema>;
    items?: JsonSchema;
  };
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => requiredPlaces(items ?? {}, item, root).map((place) => [index, ...place]));
  }
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.keys(properties).flatMap((key) =>
    key in value ? requiredPlaces(properties[key]!, value[key]!, root).map((place) => [key, ...place]) : [],
  );
  return [...required.map((key) => [key]), ...below];
};

const without = (value: Json, [key, ...rest]: (string | number)[]): Json => {
  if (Array.isArray(value)) return value.map((item, index) => (index === key ? without(item, rest) : item));
  const entries = Object.entries(value as Record<string, Json>);
  if (rest.length === 0) return Object.fromEntries(entries.filter(([name]) => name !== key));
  return Object.fromEntries(entries.map(([name, item]) => [name, name === key ? without(item, rest) : item]));
};

describe('the registry of events', () => {
  it.each(['schemas', 'golden'])('every type and version has its file in %s, and no file is left over', (name) => {
    const files = readdirSync(folder(name)).toSorted();
    const added = name === 'golden' ? later.map((one) => `${one.name}.json`) : [];
    expect(files.filter((file) => !added.includes(file))).toEqual(
      versions.map((version) => `${version.name}.json`).toSorted(),
    );
    expect(files.length).toBeGreaterThan(30);
  });

  it('knows the types of all contexts and no inherited name', () => {
    expect(['JobSubmitted', 'NodeEnrolled', 'ProjectConfigured'].every(isEventType)).toBe(true);
    expect(['constructor', '__proto__', 'JobVanished'].some(isEventType)).toBe(false);
    expect(currentVersion('JobVanished')).toBeUndefined();
  });

  it('has no schema for what never was', () => {
    expect(eventSchema('JobSubmitted', 0)).toBeUndefined();
    expect(eventSchema('../golden/JobSubmitted', 1)).toBeUndefined();
    expect(validateEvent('JobSubmitted', 99, {})).toEqual(['there is no event JobSubmitted of version 99']);
  });
});

describe.each(versions)('$name', ({ type, version, name }) => {
  const stored = golden(name);

  it('has a golden file as it was stored, which its schema accepts', () => {
    expect(stored).toMatchObject({ type, metadata: { schemaVersion: version } });
    expect(stored.stream).toMatch(/^(job|node|project)-./);
    expect(stored.metadata.actor).not.toBe('');
    expect(stored.revision).toMatch(/^\d+$/);
    expect(validateEvent(type, version, stored.data)).toEqual([]);
  });

  it('the golden file holds every field that the schema names', () => {
    const { properties } = eventSchema(type, version) as { properties: Record<string, unknown> };
    expect(Object.keys(stored.data).toSorted()).toEqual(Object.keys(properties).toSorted());
  });

  it('is refused without any one of its required fields', () => {
    const schema = eventSchema(type, version)!;
    const places = requiredPlaces(schema, stored.data, schema);
    expect(places.length).toBeGreaterThan(0);
    const accepted = places.filter((place) => validateEvent(type, version, without(stored.data, place)).length === 0);
    expect(accepted).toEqual([]);
  });

  it('is refused with a field too many, though readers tolerate it', () => {
    const more = { ...stored.data, shade: 'blue' };
    expect(validateEvent(type, version, more)).toEqual([expect.stringContaining('shade')]);
    expect(upcast(type, version, more)).toMatchObject({ shade: 'blue' });
  });

  it('reads as today without a change of its facts', () => {
    expect(validateEvent(type, currentVersion(type), upcastRecorded(stored).data)).toEqual([]);
  });
});

describe.each(later)('$name', ({ type, version, field, name }) => {
  it('was stored with a field that the version has had since, and reads as today', () => {
    const stored = golden(name);
    expect(stored).toMatchObject({ type, metadata: { schemaVersion: version } });
    expect(JSON.stringify(stored.data)).toContain(`"${field}":`);
    expect(JSON.stringify(golden(`${type}.v${version}`).data)).not.toContain(`"${field}":`);
    expect(validateEvent(type, version, stored.data)).toEqual([]);
    expect(validateEvent(type, currentVersion(type as never), upcastRecorded(stored).data)).toEqual([]);
  });
});

describe('upcasting', () => {
  /** A type that has changed twice: `cpus` became `cpu`, then a unit was split off. */
  const sample = upcaster(
    {
      Measured: [
        ({ cpus, ...rest }: { cpus?: number }) => ({ ...rest, cpu: cpus }),
        ({ cpu, ...rest }: { cpu?: number }) => ({ ...rest, cpu: { amount: cpu, unit: 'cores' } }),
      ],
    },
    (type) => ({ Measured: 3, Stable: 1 })[type],
  );

  it('applies one step for each version that lies between', () => {
    const today = { cpu: { amount: 2, unit: 'cores' }, at: 'noon' };
    expect(sample('Measured', 1, { cpus: 2, at: 'noon' })).toEqual(today);
    expect(sample('Measured', 2, { cpu: 2, at: 'noon' })).toEqual(today);
    expect(sample('Measured', 3, today)).toBe(today);
  });

  it('leaves alone what has not changed and what it does not know', () => {
    const data = { any: 'thing' };
    expect(sample('Stable', 1, data)).toBe(data);
    expect(sample('Stranger', 7, data)).toBe(data);
  });

  it('refuses a version from the future instead of misreading it', () => {
    expect(() => sample('Measured', 4, {})).toThrow(NewerEventVersion);
    expect(() => upcast('JobSubmitted', 2, {})).toThrow('run the newer one');
  });

  it('a chain with a missing step does not start', () => {
    expect(() => upcaster({ Measured: [(data) => data] }, () => 3)).toThrow('one step for each version');
  });
});
