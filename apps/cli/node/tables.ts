import { formatBytes } from '#contracts';
import { cell } from '../output/sections.js';
import { renderFields, renderTable } from '../output/table.js';
import type { Inventory, NodeView } from '#contracts';

interface Amounts {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpus: readonly unknown[];
}

/** What a node's view holds beyond its id. */
interface NodeDetails {
  readonly capacity: { readonly total: Amounts; readonly reserved: Amounts; readonly free: Amounts };
  readonly inventory: Inventory;
  /** Why it takes no new work; null when it does. */
  readonly cordoned?: string | null;
  readonly setAside?: { readonly refusals: number; readonly until: string } | null;
  readonly draining?: { readonly reason: string; readonly deadline?: string } | null;
  readonly pool?: { readonly name: string; readonly discipline: string } | null;
  readonly latency?: { readonly latencyClass: string; readonly roundTrip: number } | null;
  readonly cachedInputs?: number;
}

const detailsOf = (node: NodeView): NodeDetails => node as NodeView & NodeDetails;

/** Three numbers, labelled, so that nobody takes what is reserved for what is used. */
export const nodesTable = (nodes: readonly NodeView[]): string => {
  const rows = nodes.map((node) => {
    const { total, free } = detailsOf(node).capacity;
    return [
      node.id,
      cell(node.state),
      cell(node.institution),
      cell(node.owner),
      cell(node.executions),
      `${free.cpu} of ${total.cpu}`,
      `${formatBytes(free.memory)} of ${formatBytes(total.memory)}`,
      String(total.gpus.length),
    ];
  });
  return renderTable(['node', 'state', 'institution', 'owner', 'holds', 'free cores', 'free memory', 'gpus'], rows);
};

export const nodeFields = (node: NodeView): string => {
  const { capacity, inventory, cordoned, draining, setAside, pool, latency, cachedInputs = 0 } = detailsOf(node);
  const { applications, packages, os, architecture, gpus, container } = inventory;
  return renderFields([
    ['node', node.id],
    ['state', cell(node.state)],
    ['cordoned', cordoned ?? undefined],
    ['set aside', setAside ? setAsideText(setAside) : undefined],
    ['pool', pool ? `${pool.name} (${pool.discipline})` : undefined],
    ['draining', draining ? drainText(draining) : undefined],
    ['owner', `${cell(node.owner)} (${cell(node.institution)})`],
    ['latency', latency ? `${latency.latencyClass} (${Math.round(latency.roundTrip * 1000)} ms)` : undefined],
    ['system', `${os}, ${architecture}`],
    ['total', amounts(capacity.total)],
    ['reserved', amounts(capacity.reserved)],
    ['free', amounts(capacity.free)],
    ['gpus', gpus.map(({ id, model }) => `${id} ${model}`).join(', ') || undefined],
    ['caches', cachedInputs > 0 ? `${cachedInputs} inputs of 1 MiB and more` : undefined],
    ['holds', node.executions === 1 ? '1 execution' : `${cell(node.executions)} executions`],
    ['containers', container ? `${container.engine} ${container.version}` : 'none'],
    ['applications', applications.map(({ name, version }) => `${name} ${version}`).join(', ')],
    ['packages', `${packages.length} (--output json lists them)`],
    ['maintenance', maintenanceText(node.policy)],
    ['policy', JSON.stringify(node.policy)],
    ['last seen', cell(node.lastSeenAt)],
  ]);
};

/** As they were given: whether one is over by now is for its reader to see. */
const maintenanceText = (policy: unknown): string | undefined => {
  const { maintenance = [] } = policy as {
    readonly maintenance?: readonly { from: string; until: string; reason: string }[];
  };
  return maintenance.map(({ from, until, reason }) => `${from} to ${until}: ${reason}`).join('; ') || undefined;
};

const setAsideText = ({ refusals, until }: { readonly refusals: number; readonly until: string }): string =>
  `did not take ${refusals} jobs in a row; tried again from ${until}`;

const drainText = ({ reason, deadline }: { readonly reason: string; readonly deadline?: string }): string =>
  deadline === undefined ? reason : `${reason}; what still runs is stopped at ${deadline}`;

const amounts = ({ cpu, memory, disk, ioSlots }: Amounts): string =>
  `${cpu} cores, ${formatBytes(memory)} memory, ${formatBytes(disk)} disk, ${ioSlots} I/O slots`;
