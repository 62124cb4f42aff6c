import { currentVersion } from './registry.js';

/** Makes the data of the next version from that of one version. Pure; never throws for data that was once stored. */
export type UpcastStep = (data: object) => object;

/** By type, the steps in order: the first leads from version 1 to 2. */
export type UpcastSteps = Readonly<Record<string, readonly UpcastStep[]>>;

/** An event of a version that only newer code knows. Reading on would misread it, so the process must be replaced. */
export class NewerEventVersion extends Error {
  override readonly name = 'NewerEventVersion';
  constructor(
    readonly type: string,
    readonly version: number,
    readonly known: number,
  ) {
    super(`${type} is stored in version ${version}, and this program knows ${known} at most: run the newer one`);
  }
}

export type Upcast = (type: string, version: number, data: object) => object;

/**
 * A reader of old events: applies one step per version until the data has the current shape. Data of an unknown type
 * passes as it is, for the reader to skip or refuse; so do fields that the schema does not name.
 */
export const upcaster = (steps: UpcastSteps, current: (type: string) => number | undefined): Upcast => {
  for (const [type, chain] of Object.entries(steps)) {
    if (current(type) !== chain.length + 1)
      throw new Error(`${type} needs one step for each version before the current`);
  }
  return (type, version, data) => {
    const known = current(type);
    if (known === undefined) return data;
    if (version > known) throw new NewerEventVersion(type, version, known);
    const chain = Object.hasOwn(steps, type) ? (steps[type] ?? []) : [];
    return chain.slice(version - 1).reduce((shape, step) => step(shape), data);
  };
};

/** The steps of all types whose shape has changed: none so far. */
const STEPS: UpcastSteps = {};

/** The data of a stored event in the shape of the type's current version. */
export const upcast: Upcast = upcaster(STEPS, currentVersion);

/** A stored event as today's code reads it. */
export const upcastRecorded = (recorded: {
  readonly type: string;
  readonly data: object;
  readonly metadata: { readonly schemaVersion: number };
}): { readonly type: string; readonly data: object } => ({
  type: recorded.type,
  data: upcast(recorded.type, recorded.metadata.schemaVersion, recorded.data),
});
