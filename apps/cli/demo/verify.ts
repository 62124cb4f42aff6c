import { readExport, writeExport } from '../audit/export.js';
import { replay, stateNameOf } from '../audit/replay.js';
import type { EscalonClient, NodeView, RawEvent } from '#contracts';
import type { Millis, Timers } from '#kernel';
import type { RanExample, Served } from './example.js';
import type { Narrator } from './narrator.js';

/** Exports the job's record, reads it back, and folds it: it must come to what the server said at every revision seen. */
export const verifyRecord = async (ran: RanExample, client: EscalonClient, narrator: Narrator): Promise<void> => {
  const events = readBack((await client.jobEvents(ran.jobId)).items);
  narrator.check(`${events.length} events exported, oldest first, and their digest holds`);
  const completions = events.filter(({ type }) => type === 'JobCompleted').length;
  if (completions !== 1) throw new Error(`the job has ${completions} completions instead of one`);
  narrator.check('the job completed exactly once');
  const { revision, state } = await client.getJob(ran.jobId);
  const compared = compare(events, [...ran.served, { revision, state }]);
  narrator.check(
    `replayed at each of ${events.length} revisions: the states are those served while it ran (${compared})`,
  );
};

/** Every decision of the job is made again by the server, from the log alone, and must come to what is recorded. */
export const verifyDecisions = async (jobId: string, client: EscalonClient, narrator: Narrator): Promise<void> => {
  for await (const message of client.verifyDecisions({ job: jobId })) {
    if (message.kind === 'found') throw new Error(`a decision does not derive: ${JSON.stringify(message.found)}`);
    if (message.kind !== 'end') continue;
    const { verified, otherVersion } = message.summary;
    if (verified === 0 || otherVersion > 0) throw new Error('no decision of the job could be derived again');
    const decisions = verified === 1 ? 'the decision was' : `${verified} decisions were`;
    narrator.check(`${decisions} derived again from the log, value by value the same`);
  }
};

const readBack = (events: readonly RawEvent[]): readonly RawEvent[] => {
  let text = '';
  writeExport(events, { isTerminal: false, write: (more) => void (text += more) });
  return readExport(text);
};

/** Throws at the first state that differs; answers the states compared, each once. */
const compare = (events: readonly RawEvent[], served: readonly Served[]): string => {
  const states = new Map([...replay(events)].map(({ revision, state }) => [revision, stateNameOf(state)]));
  const seen = new Set<string>();
  for (const { revision, state } of served) {
    const derived = states.get(revision);
    if (derived !== state) {
      throw new Error(`at revision ${revision} the server said ${state}, and the events say ${derived ?? 'nothing'}`);
    }
    seen.add(`${revision}: ${state}`);
  }
  return [...seen].join(', ');
};

type Amounts = Readonly<Record<string, number>>;

const RESOURCES = ['cpu', 'memory', 'disk', 'ioSlots'];
const LOOKS = 50;
const LOOK_EVERY: Millis = 100;

/** Every claim is given back: what is free is all there is. The release follows the end of a job by a moment. */
export const verifyLedger = async (client: EscalonClient, timers: Timers, narrator: Narrator): Promise<void> => {
  for await (const { id } of client.nodes()) {
    let held = await heldOn(id, client);
    for (let look = 1; held.length > 0 && look < LOOKS; look += 1) {
      await new Promise<void>((resolve) => void timers.after(LOOK_EVERY, resolve));
      held = await heldOn(id, client);
    }
    if (held.length > 0) throw new Error(`node ${id} still holds something after the last job: ${held.join(', ')}`);
    narrator.check(`node ${id} holds nothing any more: all that it has is free again`);
  }
};

const heldOn = async (id: string, client: EscalonClient): Promise<readonly string[]> => {
  const { capacity } = (await client.node(id)) as NodeView & { capacity: { total: Amounts; free: Amounts } };
  const taken = RESOURCES.filter((resource) => capacity.free[resource] !== capacity.total[resource]);
  return taken.map((resource) => `${resource}: ${capacity.free[resource]} of ${capacity.total[resource]} free`);
};
