import { jobDecider, jobStateName } from '#jobs';
import type { JobEvent, JobState } from '#jobs';
import { fold } from '#kernel';
import { freeCapacity, nodeDecider, totalCapacity } from '#nodes';
import type { NodeEvent } from '#nodes';
import type { ApiClient } from './api-client.js';

export interface RawEvent {
  readonly type: string;
  readonly stream: string;
  readonly revision: string;
  readonly position: string;
  readonly data: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
}

/** A job's raw events as an auditor reads them. */
export const eventsOf = async (api: ApiClient, jobId: string): Promise<RawEvent[]> =>
  page(api, `/jobs/${jobId}/events`);

/** From the log itself. What is read of a read model afterwards holds these events too. */
const page = async (api: ApiClient, path: string): Promise<RawEvent[]> => {
  const { items } = await api.read<{ items: RawEvent[] }>(path);
  api.known.heard(items.at(-1)?.position);
  return items;
};

export const typesOf = (events: readonly RawEvent[]): string[] => events.map(({ type }) => type);

export const count = (events: readonly RawEvent[], ...types: string[]): number =>
  events.filter(({ type }) => types.includes(type)).length;

/** The job's state after each of its events. */
export const statesOf = (events: readonly RawEvent[]): JobState[] => {
  const states: JobState[] = [];
  let state = jobDecider.initialState();
  for (const event of events) {
    state = jobDecider.evolve(state, event as unknown as JobEvent);
    states.push(state);
  }
  return states;
};

export const stateName = (events: readonly RawEvent[]): string =>
  jobStateName(statesOf(events).at(-1) ?? jobDecider.initialState());

const ENDS = ['JobCompleted', 'JobFailed', 'JobCancelled'];

/**
 * What must hold of every log: each job has at most one end, each execution at most one, each claim is released exactly
 * once, and no node ever held more than it has. Answers what does not hold.
 */
export const violations = (log: readonly RawEvent[]): string[] => {
  const wrong: string[] = [];
  const streams = Map.groupBy(log, ({ stream }) => stream);
  for (const [stream, events] of streams) {
    if (stream.startsWith('job-')) wrong.push(...jobViolations(stream, events));
    if (stream.startsWith('node-')) wrong.push(...nodeViolations(stream, events));
  }
  return wrong;
};

const EXECUTION_ENDS = [
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionCancelled',
  'ReservationExpired',
  'ReservationDeclined',
];

const jobViolations = (stream: string, events: readonly RawEvent[]): string[] => {
  const wrong: string[] = [];
  if (count(events, ...ENDS) > 1) wrong.push(`${stream} ended ${String(count(events, ...ENDS))} times`);
  const ends = Map.groupBy(
    events.filter(({ type }) => EXECUTION_ENDS.includes(type)),
    ({ data }) => String(data.executionId),
  );
  for (const [id, all] of ends) if (all.length > 1) wrong.push(`${id} ended ${String(all.length)} times`);
  const revisions = events.map(({ revision }) => Number(revision));
  if (revisions.some((revision, index) => revision !== index)) wrong.push(`${stream} has a gap`);
  return wrong;
};

const nodeViolations = (stream: string, events: readonly RawEvent[]): string[] => {
  const wrong: string[] = [];
  let node = nodeDecider.initialState();
  const claimed = new Map<string, number>();
  for (const event of events) {
    const id = String(event.data.executionId);
    if (event.type === 'CapacityReserved') claimed.set(id, (claimed.get(id) ?? 0) + 1);
    if (event.type === 'CapacityReleased') claimed.set(id, (claimed.get(id) ?? 0) - 1);
    if ((claimed.get(id) ?? 0) < 0) wrong.push(`${id} was released twice on ${stream}`);
    if ((claimed.get(id) ?? 0) > 1) wrong.push(`${id} was reserved twice on ${stream}`);
    node = nodeDecider.evolve(node, event as unknown as NodeEvent);
    const held = Object.values(node.held).map(({ contract }) => contract);
    const free = freeCapacity(node.inventory, held);
    if (free.cpuMilli < 0 || free.memory < 0) wrong.push(`${stream} is over-committed at ${event.revision}`);
  }
  return wrong;
};

/** What a node still holds, by its own events. */
export const heldOn = (log: readonly RawEvent[], nodeId: string): string[] => {
  const events = log.filter(({ stream }) => stream === `node-${nodeId}`) as unknown as NodeEvent[];
  const node = fold(nodeDecider, events);
  const same = JSON.stringify(freeCapacity(node.inventory, [])) === JSON.stringify(totalCapacity(node.inventory));
  return same ? Object.keys(node.held) : ['the ledger does not add up'];
};

/** Every event there is. */
export const wholeLog = async (api: ApiClient): Promise<RawEvent[]> => {
  const events: RawEvent[] = [];
  for (let from = ''; ;) {
    const items = await page(api, `/events${from && `?from=${from}`}`);
    events.push(...items);
    const last = items.at(-1);
    if (!last) return events;
    from = last.position;
  }
};
