import { byText } from '#kernel';
import type { AccessList, InstalledSoftware, Inventory, Policy } from '#nodes';
import { foldArchitecture } from '../requirements/architecture-name.js';
import { compareVersions, parseVersion } from '../requirements/version.js';
import type { Version } from '../requirements/version.js';
import { longestWindow } from '../windows/windows.js';

/** An installed version; `version` is absent when the text has no order, and then only an absent range accepts it. */
export interface InstalledVersion {
  readonly text: string;
  readonly version: Version | undefined;
}

export interface AccessSets {
  readonly institutions: ReadonlySet<string> | undefined;
  readonly projects: ReadonlySet<string> | undefined;
  readonly accounts: ReadonlySet<string> | undefined;
  readonly applications: ReadonlySet<string> | undefined;
}

/** What filters ask of a node, looked up instead of searched for. */
export interface NodeFacts {
  readonly architecture: string;
  /** By exact name, the highest version first. */
  readonly applications: ReadonlyMap<string, readonly InstalledVersion[]>;
  readonly packages: ReadonlyMap<string, readonly InstalledVersion[]>;
  /** The engine that runs containers, if any. */
  readonly container: string | undefined;
  /** Labels, and the built-in `node.…` keys, which no label can replace. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly allow: AccessSets | undefined;
  readonly deny: AccessSets | undefined;
  /** Longest span the owner's windows leave, in seconds; Infinity without windows. */
  readonly longestWindow: number;
}

export interface NodeIdentity {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly institution: string;
}

export const factsOf = (identity: NodeIdentity, inventory: Inventory, policy: Policy): NodeFacts => ({
  architecture: foldArchitecture(inventory.architecture),
  applications: installed(inventory.applications),
  packages: installed(inventory.packages),
  container: inventory.container?.engine,
  attributes: attributesOf(identity, inventory),
  allow: accessSets(policy.allow),
  deny: accessSets(policy.deny),
  longestWindow: policy.windows ? longestWindow(policy.windows) : Infinity,
});

const installed = (software: readonly InstalledSoftware[]): Map<string, InstalledVersion[]> => {
  const byName = new Map<string, InstalledVersion[]>();
  for (const { name, version } of software) {
    const list = byName.get(name) ?? [];
    list.push({ text: version, version: parseVersion(version) });
    byName.set(name, list);
  }
  for (const list of byName.values()) list.sort(highestFirst);
  return byName;
};

/** Versions that have no order go last; the text decides what is left. */
const highestFirst = (left: InstalledVersion, right: InstalledVersion): number => {
  if (!left.version || !right.version) return left.version ? -1 : right.version ? 1 : byText(left.text, right.text);
  return compareVersions(right.version, left.version) || byText(left.text, right.text);
};

const attributesOf = (identity: NodeIdentity, inventory: Inventory): Map<string, string> => {
  const attributes = new Map(Object.entries(inventory.labels));
  const builtIn: readonly (readonly [string, string])[] = [
    ['node.id', identity.id],
    ['node.name', identity.name],
    ['node.owner', identity.owner],
    ['node.institution', identity.institution],
    ['node.os', inventory.os],
    ['node.architecture', foldArchitecture(inventory.architecture)],
    ['node.cpu', String(inventory.cpu)],
    ['node.memory', String(inventory.memory)],
    ['node.disk', String(inventory.disk)],
    ['node.gpus', String(inventory.gpus.length)],
  ];
  for (const [key, value] of builtIn) attributes.set(key, value);
  if (inventory.container) attributes.set('node.container', inventory.container.engine);
  else attributes.delete('node.container');
  return attributes;
};

const setOf = (names: readonly string[] | undefined): ReadonlySet<string> | undefined => names && new Set(names);

const accessSets = (list: AccessList | undefined): AccessSets | undefined =>
  list && {
    institutions: setOf(list.institutions),
    projects: setOf(list.projects),
    accounts: setOf(list.accounts),
    applications: setOf(list.applications),
  };
