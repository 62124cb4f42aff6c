import type { ProblemItem } from '#contracts';
import { wavesOf } from '#kernel';
import { isRecord } from '#platform/validation';

/*
 * Jobs that are submitted together may name each other: `#name` stands for the one of this name, in `dependsOn` and as
 * `job:#name/path` in an input. An input of that kind is a dependency on its job's completion.
 */

/** A job that another of the same submission waits for: where that is written, and the index of the one that is meant. */
export interface BatchDependency {
  readonly pointer: string;
  readonly parent: number;
  readonly when: unknown;
}

/** Job files with ids in the place of names. */
export interface ResolvedBatch {
  /** Undefined where none names another: then each stands for itself. */
  readonly waves: readonly (readonly number[])[] | undefined;
  readonly items: readonly unknown[];
  /** What each waits for among the others. */
  readonly dependencies: readonly (readonly BatchDependency[])[];
  /** Pointers are into the list of items. */
  readonly mistakes: readonly ProblemItem[];
}

/** Brings the files in `waves`: those of one wait for nothing but what is in the waves before it. Names every mistake. */
export const resolveReferences = (items: readonly unknown[], ids: readonly string[]): ResolvedBatch => {
  const named = Map.groupBy(items.keys(), (index) => nameOf(items[index]));
  const resolved = items.map((item, index) => new ItemReferences(item, index, named, ids).resolve());
  const dependencies = resolved.map((one) => one.dependencies);
  const mistakes = resolved.flatMap((one) => one.mistakes);
  if (dependencies.every((one) => one.length === 0)) return { waves: undefined, items, dependencies, mistakes };
  const { waves, cycle } = wavesOf(new Map(dependencies.map((all, index) => [index, all.map(({ parent }) => parent)])));
  if (cycle) mistakes.push(cycleMistake(cycle, dependencies, items));
  return { waves, items: resolved.map(({ item }) => item), dependencies, mistakes };
};

const nameOf = (item: unknown): string | undefined =>
  isRecord(item) && typeof item.name === 'string' ? item.name : undefined;

const INPUT = /^job:#([^/]+)\/(.+)$/s;

/** What one file names, and the file without those names. */
class ItemReferences {
  private readonly dependencies: BatchDependency[] = [];
  private readonly mistakes: ProblemItem[] = [];

  constructor(
    private readonly item: unknown,
    private readonly index: number,
    private readonly named: ReadonlyMap<string | undefined, readonly number[]>,
    private readonly ids: readonly string[],
  ) {}

  resolve(): { item: unknown; dependencies: readonly BatchDependency[]; mistakes: readonly ProblemItem[] } {
    const { item, dependencies, mistakes } = this;
    if (!isRecord(item)) return { item, dependencies, mistakes };
    const dependsOn = listOf(item.dependsOn).map((one, at) => this.dependency(one, `/dependsOn/${at}/job`));
    const waited = new Set(dependencies.map(({ parent }) => parent));
    const inputs = listOf(item.inputs).map((one, at) => this.input(one, `/inputs/${at}/source`, waited));
    const implied = [...waited].filter(
      (parent) => !dependsOn.some((one) => isRecord(one) && one.job === this.ids[parent]),
    );
    const added = implied.map((parent) => ({ job: this.ids[parent], when: 'completed' }));
    const changed = {
      ...item,
      ...(Array.isArray(item.inputs) && { inputs }),
      ...((added.length > 0 || Array.isArray(item.dependsOn)) && { dependsOn: [...dependsOn, ...added] }),
    };
    return { item: dependencies.length > 0 ? changed : item, dependencies, mistakes };
  }

  private dependency(one: unknown, pointer: string): unknown {
    if (!isRecord(one) || typeof one.job !== 'string' || !one.job.startsWith('#')) return one;
    const parent = this.meant(one.job.slice(1), pointer);
    if (parent === undefined) return one;
    const { when = 'completed' } = one;
    this.dependencies.push({ pointer: this.place(pointer), parent, when });
    return { ...one, job: this.ids[parent] };
  }

  private input(one: unknown, pointer: string, waited: Set<number>): unknown {
    const source = isRecord(one) && typeof one.source === 'string' ? one.source : '';
    const [, name, path] = INPUT.exec(source) ?? [];
    const parent = name === undefined ? undefined : this.meant(name, pointer);
    if (parent === undefined || path === undefined) return one;
    if (!waited.has(parent)) this.dependencies.push({ pointer: this.place(pointer), parent, when: 'completed' });
    waited.add(parent);
    return { ...(one as object), source: `job:${this.ids[parent] ?? ''}/${path}` };
  }

  private meant(name: string, pointer: string): number | undefined {
    const [found, ...others] = this.named.get(name) ?? [];
    if (found !== undefined && others.length === 0) return found;
    const message =
      found === undefined
        ? `names #${name}, and no job of this name is submitted with it`
        : `names #${name}, and ${others.length + 1} jobs have this name`;
    const code = found === undefined ? 'UNKNOWN_JOB' : 'AMBIGUOUS';
    this.mistakes.push({ pointer: this.place(pointer), code, message });
    return undefined;
  }

  private place(pointer: string): string {
    return `/items/${this.index}${pointer}`;
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** The pointer is to where the last of them waits for the first. */
const cycleMistake = (cycle: readonly number[], graph: ResolvedBatch['dependencies'], items: readonly unknown[]) => {
  const [last, first] = cycle.slice(-2);
  const pointer = graph[last ?? 0]?.find(({ parent }) => parent === first)?.pointer ?? '';
  const names = cycle.map((index) => `#${nameOf(items[index]) ?? String(index)}`);
  return { pointer, code: 'CYCLE', message: `closes a cycle: ${names.join(' waits for ')}` };
};
