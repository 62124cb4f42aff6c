import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { fold } from '#kernel';
import { aJobSpec, aPlacement, aReport, aSubmission, aSuccess, second } from '#testing';
import type { JobCommand } from './commands.js';
import { jobDecider } from './decide.js';
import { FAILURE_CLASSES } from './job-spec.js';
import type { Dependency } from './job-spec.js';
import { MOST_RETURNS } from './retry.js';
import { isLive, jobStateName } from './state.js';
import type { Execution, JobState } from './state.js';

/*
 * The diagrams of docs/reference/states.md are what the decider does, no more and no less. Every command is tried in every
 * state that a job with two partitions can reach; what is counted without bound (tokens, returns, executions that are over)
 * is folded away, so the states are finitely many.
 */

const AT = 100;
const at = second(AT);

/** All commands that could change something in this state; executions are numbered by their partition. */
const commandsIn = (job: JobState): JobCommand[] => {
  if (!job.exists) return [root(2), root(2, [{ job: 'job-0', when: 'completed' }])];
  const live = Object.values(job.executions).map(({ partition }) => partition);
  return [
    { type: 'ChangePriority', priority: 99, at },
    { type: 'PauseJob', reason: 'wait', at },
    { type: 'ResumeJob', at },
    { type: 'MeetDependencies', dependencies: [{ job: 'job-0', outcome: 'completed' }], at },
    { type: 'CancelJob', reason: 'mistake', byUser: true, at },
    { type: 'FailJob', class: 'timeout', code: 'total-timeout', message: 'too long', at },
    { type: 'TimeOutJob', at },
    { type: 'AbandonReservation', executionId: 'job-1.9', nodeId: 'node-1', at },
    ...[0, 1].map((partition) => aPlacement(partition, 1, { number: job.decisions + 1, partition })),
    ...live.flatMap((partition) => commandsOn(partition, job.executions[`job-1.${partition}`]!)),
  ];
};

const commandsOn = (number: number, { executionId, fencingToken }: Execution): JobCommand[] => {
  const say = (tail: Parameters<typeof aReport>[2]) => aReport(number, AT, tail, { fencingToken });
  return [
    { type: 'ExpireReservation', executionId, at },
    { type: 'DeclareExecutionLost', executionId, reason: 'silent', at },
    { type: 'StopExecution', executionId, cause: 'node-drained', reason: 'drained', at },
    { type: 'TimeOutExecution', executionId, grace: 1, at: second(AT + 2) },
    ...(['confirm', 'prepare', 'start', 'pause', 'resume', 'publish'] as const).map((type) => say({ type })),
    say({ type: 'decline', reason: 'busy' }),
    say({ type: 'progress', fraction: 1 }),
    aSuccess(number, AT, { fencingToken }),
    ...FAILURE_CLASSES.map((kind) => say({ type: 'fail', class: kind, code: 'some', message: 'why' })),
  ];
};

const root = (attempts: number, dependsOn: readonly Dependency[] = []) => {
  const { retry } = aJobSpec();
  const timeouts = { confirm: 15, queue: 1, run: 1, total: 3 };
  return aSubmission({
    spec: aJobSpec({ count: 2, dependsOn, retry: { ...retry, attempts, on: [...retry.on, 'timeout'] }, timeouts }),
  });
};

/** The same state without what only grows. `returned` stays what the exploration began with. */
const folded = (job: JobState, returned: number): JobState => ({
  ...job,
  decisions: 0,
  reservations: 0,
  lastDecision: undefined,
  exclusions: [],
  avoid: [],
  abandoned: [],
  executions: Object.fromEntries(Object.entries(job.executions).filter(([, execution]) => isLive(execution))),
  partitions: job.partitions.map(({ state, tries, failures }) => ({ state, tries, failures, returned })),
});

const keyOf = (job: JobState): string =>
  JSON.stringify([
    job.exists,
    job.ended,
    job.paused,
    job.blocked,
    job.cancelRequested !== undefined,
    job.partitions.map(({ state, failures }) => [state, failures]),
    Object.values(job.executions).map(({ partition, state, startedAt }) => [partition, state, startedAt !== undefined]),
  ]);

const nameOf = (job: JobState): string => (job.exists ? jobStateName(job) : '[*]');
const triggerOf = (command: JobCommand): string =>
  command.type === 'ReportExecution' ? command.report.type : command.type;

interface Arrows {
  readonly jobs: Set<string>;
  readonly executions: Set<string>;
}

const explore = (returned: number, arrows: Arrows): void => {
  const seen = new Set<string>();
  const ahead = [jobDecider.initialState()];
  for (let job = ahead.pop(); job; job = ahead.pop()) {
    if (seen.has(keyOf(job))) continue;
    seen.add(keyOf(job));
    for (const command of commandsIn(job)) ahead.push(folded(step(job, command, arrows), returned));
  }
};

const step = (job: JobState, command: JobCommand, arrows: Arrows): JobState => {
  const decision = jobDecider.decide(command, job);
  if (decision.kind === 'rejected') return job;
  let state = job;
  for (const event of decision.events) {
    const next = fold(jobDecider, [event], state);
    for (const { executionId, state: to } of Object.values(next.executions)) {
      const from = state.executions[executionId]?.state ?? '[*]';
      if (from !== to) arrows.executions.add(`${from} --> ${to}: ${event.type}`);
    }
    state = next;
  }
  const [from, to] = [nameOf(job), nameOf(state)];
  if (from !== to) arrows.jobs.add(`${from} --> ${to}: ${triggerOf(command)}`);
  return state;
};

/** The arrows of a diagram, one for each word of its label. Arrows without a label only mark ends. */
const drawn = (title: string): string[] => {
  const page = readFileSync('docs/reference/states.md', 'utf8');
  const section = page.slice(page.indexOf(`## ${title}`));
  const diagram = /```mermaid\n([^`]*)```/.exec(section)?.[1] ?? '';
  const arrows = [...diagram.matchAll(/^ *(\S+ --> \S+): (.+)$/gm)];
  return arrows.flatMap(([, arrow, label]) => label!.split(', ').map((word) => `${arrow!}: ${word}`));
};

describe('docs/reference/states.md', () => {
  const arrows: Arrows = { jobs: new Set(), executions: new Set() };
  explore(0, arrows);
  explore(MOST_RETURNS - 1, arrows);

  it('A-92 draws every change of state that a job can make, with what causes it', () => {
    expect(drawn('Job').sort()).toEqual([...arrows.jobs].sort());
  });

  it('A-92 draws every change of state that an execution can make, with the event that tells it', () => {
    expect(drawn('Execution').sort()).toEqual([...arrows.executions].sort());
  });

  it('A-87 draws no way out of an end', () => {
    const ends = ['completed', 'failed', 'cancelled', 'succeeded', 'lost', 'expired', 'declined'];
    const out = [...arrows.jobs, ...arrows.executions].filter((arrow) =>
      ends.some((end) => arrow.startsWith(`${end} -->`)),
    );
    expect(out).toEqual([]);
    expect(arrows.jobs.size).toBeGreaterThan(20);
  });
});
