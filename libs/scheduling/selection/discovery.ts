/** Where nodes are found. */
export interface NodeSource {
  /** For people who read errors. */
  readonly name: string;
  /** Ids; throws when it cannot say. */
  readonly nodes: () => readonly string[];
}

export interface Discovered {
  /** Each once, in the order in which the sources first name them. */
  readonly nodeIds: readonly string[];
  /** Sources that failed and were passed over. */
  readonly failed: readonly { readonly source: string; readonly error: unknown }[];
}

/** All nodes of several sources. One that fails is thrown on, unless failing ones are to be ignored. */
export const discover = (sources: readonly NodeSource[], onFailure: 'throw' | 'ignore' = 'throw'): Discovered => {
  const nodeIds = new Set<string>();
  const failed: { source: string; error: unknown }[] = [];
  for (const { name, nodes } of sources) {
    try {
      for (const nodeId of nodes()) nodeIds.add(nodeId);
    } catch (error) {
      if (onFailure === 'throw') throw new Error(`nodes of ${name} cannot be listed`, { cause: error });
      failed.push({ source: name, error });
    }
  }
  return { nodeIds: [...nodeIds], failed };
};
