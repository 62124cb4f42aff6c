/*
 * How values are written as JSON and read again. The codec of a record names every key of its type, so that a field which
 * is added later cannot be forgotten: it does not compile until somebody has said how it is stored, or that it is derived.
 */

export interface Codec<Value> {
  readonly save: (value: Value) => unknown;
  /** `json` is what `save` gave, after a round through text. */
  readonly load: (json: unknown) => Value;
}

/** The part of a type that comes out of JSON as it went in; `never` for maps, sets and bigints. */
type Plain<T> = T extends bigint | symbol | ((...args: never) => unknown) | Collection
  ? never
  : T extends object
    ? { [K in keyof T]: Plain<T[K]> }
    : T;
type Collection = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;

/** `plain`: JSON keeps it as it is. `derived`: not stored, for it follows from the rest or belongs to the process. */
type Fields<T> = {
  readonly [K in keyof T]-?: Codec<T[K]> | (T[K] extends Plain<T[K]> ? 'plain' : never) | 'derived';
};
type Stored<T, F> = {
  -readonly [K in keyof T as K extends keyof F ? (F[K] extends 'derived' ? never : K) : never]: T[K];
};

interface RecordCodec<T, S> {
  readonly save: (value: T) => unknown;
  readonly load: (json: unknown) => S;
}

export const record =
  <T extends object>() =>
  <const F extends Fields<T>>(fields: F): RecordCodec<T, Stored<T, F>> => {
    const stored = Object.entries(fields as Record<string, Codec<unknown> | 'plain' | 'derived'>).flatMap(
      ([key, field]) => (field === 'derived' ? [] : [[key, field === 'plain' ? PLAIN : field] as const]),
    );
    return {
      save: (value) => {
        const json: Record<string, unknown> = {};
        for (const [key, codec] of stored) json[key] = codec.save((value as Record<string, unknown>)[key]);
        return json;
      },
      load: (json) => {
        const value: Record<string, unknown> = {};
        for (const [key, codec] of stored) value[key] = codec.load((json as Record<string, unknown>)[key]);
        return value as Stored<T, F>;
      },
    };
  };

const PLAIN: Codec<unknown> = { save: (value) => value, load: (json) => json };

/** Takes no argument; the type asks for an impossible one when the value is not plain. */
export const plain = <T>(..._none: T extends Plain<T> ? [] : [never]): Codec<T> => PLAIN as Codec<T>;

export const whole: Codec<bigint> = { save: String, load: (json) => BigInt(json as string) };

export const optional = <T>({ save, load }: Codec<T>): Codec<T | undefined> => ({
  save: (value) => (value === undefined ? undefined : save(value)),
  load: (json) => (json === undefined ? undefined : load(json)),
});

export const list = <T>({ save, load }: Codec<T>): Codec<T[]> => ({
  save: (values) => values.map(save),
  load: (json) => (json as unknown[]).map(load),
});

/** Keeps the order of the entries. */
export const map = <T>({ save, load }: Codec<T>): Codec<Map<string, T>> => ({
  save: (values) => Array.from(values, ([key, value]) => [key, save(value)]),
  load: (json) => new Map((json as [string, unknown][]).map(([key, value]) => [key, load(value)])),
});

/** Keeps the order of the members. */
export const texts: Codec<Set<string>> = {
  save: (values) => [...values],
  load: (json) => new Set(json as string[]),
};
