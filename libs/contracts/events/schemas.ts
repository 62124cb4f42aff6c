import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { readFileSync } from 'node:fs';
import { currentVersion } from './registry.js';

/** A JSON Schema (draft 2020-12) as it lies in `schemas/`. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const isKnown = (type: string, version: number): boolean =>
  Number.isInteger(version) && version >= 1 && version <= (currentVersion(type) ?? 0);

/** The schema of an event type's data in one version, read from its file; undefined when there never was such a one. */
export const eventSchema = (type: string, version: number): JsonSchema | undefined =>
  isKnown(type, version)
    ? (JSON.parse(readFileSync(new URL(`./schemas/${type}.v${version}.json`, import.meta.url), 'utf8')) as JsonSchema)
    : undefined;

let ajv: Ajv2020 | undefined;
const compiled = new Map<string, ValidateFunction>();

/** Compiles a schema when it is first asked for: most processes write a few types only. */
const validatorOf = (type: string, version: number): ValidateFunction | undefined => {
  const key = `${type}.v${version}`;
  const ready = compiled.get(key);
  if (ready) return ready;
  const schema = eventSchema(type, version);
  if (!schema) return undefined;
  ajv ??= new Ajv2020({ allErrors: true, strict: true });
  const validator = ajv.compile(schema);
  compiled.set(key, validator);
  return validator;
};

const inWords = ({ instancePath, message = 'is wrong', params }: ErrorObject): string => {
  const extra: unknown = params.additionalProperty;
  return `${instancePath === '' ? '/' : instancePath} ${message}${typeof extra === 'string' ? `: ${extra}` : ''}`;
};

/** What keeps data from being an event of this type and version; empty when nothing does. For writers: readers tolerate. */
export const validateEvent = (type: string, version: number, data: unknown): string[] => {
  const validator = validatorOf(type, version);
  if (!validator) return [`there is no event ${type} of version ${version}`];
  return validator(data) ? [] : (validator.errors ?? []).map(inWords);
};
