import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { EventStore } from '#event-store';
import type { Decision, PlacementDecided, TargetsChanged, Weights } from '#jobs';
import { ALGORITHM, applyEvent, assume, decide, emptyCluster, requestOf, targetChange } from '#placement';
import type { AssumedReservation, ClusterEvent, ClusterJob, ClusterState } from '#placement';
import { World } from '#placement/testing';
import { second } from '#testing';
import { decisionPoints, pointsOf } from './points.js';
import { verifyPoint } from './verify.js';
import type { Verdict } from './verify.js';
import { DecisionWalk, isOfDecision } from './walk.js';
import type { DerivationPoint } from './walk.js';
import { withOtherWeights } from './what-if.js';

/** A decision that was made but is not recorded yet, and the claim that has to come true first. */
interface Open {
  readonly jobId: string;
  readonly event: PlacementDecided | TargetsChanged;
  claim: AssumedReservation | undefined;
}

/** What happens next; the number picks among what there is. */
type Step = readonly ['node' | 'decide' | 'claim' | 'record' | 'end' | 'cordon' | 'match', number];

/** A log in which decisions overlap as with one busy scheduler: made, claimed and recorded at different times. */
class Histories extends World {
  private readonly open: Open[] = [];
  private readonly running: AssumedReservation[] = [];
  private made = 0;

  history(steps: readonly Step[]): ClusterEvent[] {
    for (const [what, pick] of steps) this.step(what, pick);
    while (this.open.length > 0) this.settle(0);
    return this.events;
  }

  private step(what: Step[0], pick: number): void {
    if (what === 'node') {
      const name = `n${String(this.cluster.nodes.size)}`;
      this.node(name, { inventory: { cpu: 2 + (pick % 7), memory: (1 + (pick % 5)) * 2 ** 30 } });
    }
    if (what === 'cordon') this.cordon(pick);
    if (what === 'match') this.daemon(pick);
    if (what === 'decide') this.make(pick);
    if (what === 'claim') this.claim(this.open[pick % Math.max(1, this.open.length)]);
    if (what === 'record' && this.open.length > 0) this.settle(pick % this.open.length);
    if (what === 'end') this.finish(pick);
  }

  private cordon(pick: number): void {
    const nodes = [...this.cluster.nodes.keys()];
    const node = nodes[pick % Math.max(1, nodes.length)];
    if (node === undefined) return;
    const cordoned = this.cluster.nodes.get(node)?.cordon !== undefined;
    if (cordoned) this.onNode(node, { type: 'NodeUncordoned', data: { at: second(1) } });
    else this.onNode(node, { type: 'NodeCordoned', data: { reason: 'x', at: second(1) } });
  }

  /** One of two daemons gets and loses nodes, or has a part placed on its own; nothing of it is made meanwhile. */
  private daemon(pick: number): void {
    const jobId = `d${String(pick % 2)}`;
    if (!this.cluster.jobs.has(jobId)) this.job(jobId, { type: 'daemon' });
    const job = this.cluster.jobs.get(jobId);
    if (!job || this.open.some((one) => one.jobId === jobId)) return;
    this.made += 1;
    const change = targetChange(job, this.cluster, this.made * 1000);
    if (change.added.length + change.removed.length === 0) return this.part(job, pick);
    const known = job.partitions.map(({ target }) => target);
    const fresh = change.added.filter((nodeId) => !known.includes(nodeId));
    const added = change.added.map((nodeId) => ({
      nodeId,
      partition: fresh.includes(nodeId) ? known.length + fresh.indexOf(nodeId) : known.indexOf(nodeId),
    }));
    const removed = known.flatMap((nodeId = '', index) => (change.removed.includes(nodeId) ? [index] : []));
    const position = String(this.cluster.position);
    const data = { evaluationId: 'e', position, algorithm: ALGORITHM, added, removed, at: second(this.made) };
    this.open.push({ jobId, event: { type: 'TargetsChanged', data }, claim: undefined });
  }

  private part({ id, partitions }: ClusterJob, pick: number): void {
    const waiting = partitions.flatMap(({ state }, index) => (state === 'waiting' ? [index] : []));
    const partition = waiting[pick % Math.max(1, waiting.length)];
    if (partition !== undefined) this.decideFor(id, partition);
  }

  private make(pick: number): void {
    this.made += 1;
    const jobId = `j${String(this.made)}`;
    this.job(jobId, { resources: { cpu: 1 + (pick % 3), memory: (pick % 4) * 2 ** 28, disk: 0, ioSlots: 0 } });
    this.decideFor(jobId, 0);
  }

  private decideFor(jobId: string, partition: number): void {
    const { decision, nodeId = '', contract } = this.decide(jobId, second(this.made), partition);
    const executionId = `${jobId}.${String(this.made)}`;
    const claim = contract && { executionId, nodeId, jobId, project: 'demo', contract };
    if (claim) assume(this.cluster, claim);
    this.open.push({ jobId, event: { type: 'PlacementDecided', data: decision }, claim });
  }

  private claim(one: Open | undefined): void {
    if (!one?.claim) return;
    const { executionId, nodeId, jobId, project, contract } = one.claim;
    const data = { executionId, jobId, project, contract, expiresAt: second(90), at: second(5) };
    this.onNode(nodeId, { type: 'CapacityReserved', data });
    this.running.push(one.claim);
    one.claim = undefined;
  }

  /** A decision is recorded when its own claim and all that it took for granted have come true. */
  private settle(index: number): void {
    const [one] = this.open.splice(index, 1);
    if (!one) return;
    const needed = new Set(one.event.type === 'PlacementDecided' ? one.event.data.assumed : []);
    for (const other of this.open) if (needed.has(other.claim?.executionId ?? '')) this.claim(other);
    this.claim(one);
    this.onJob(one.jobId, one.event);
  }

  private finish(pick: number): void {
    const [claim] = this.running.splice(pick % Math.max(1, this.running.length), 1);
    if (claim) this.release(claim.nodeId, claim.executionId);
  }
}

const steps = fc.array(
  fc.tuple(fc.constantFrom<Step[0][]>('node', 'decide', 'decide', 'claim', 'record', 'end', 'cordon'), fc.nat(99)),
  { minLength: 10, maxLength: 80 },
);

const stepsWithDaemons = fc.array(
  fc.tuple(
    fc.constantFrom<Step[0][]>('node', 'decide', 'claim', 'record', 'record', 'cordon', 'match', 'match', 'match'),
    fc.nat(99),
  ),
  { minLength: 10, maxLength: 80, size: 'max' },
);

const storeOf = (events: readonly ClusterEvent[]): EventStore => {
  async function* all({ upTo }: { upTo?: bigint } = {}) {
    await Promise.resolve();
    for (const event of events) if (upTo === undefined || event.position <= upTo) yield event;
  }
  async function* one(stream: string) {
    for await (const event of all()) if (event.stream === stream) yield event;
  }
  return { readAll: all, readStream: one } as unknown as EventStore;
};

const DERIVED = new Set(['PlacementDecided', 'TargetsChanged']);

const decisionsIn = (events: readonly ClusterEvent[]): ClusterEvent[] =>
  events.filter(({ type }) => type === 'PlacementDecided');

const visit = async (points: AsyncIterable<DerivationPoint>, look: (point: DerivationPoint) => unknown) => {
  const seen: [string, unknown][] = [];
  for await (const point of points) seen.push([point.recorded.jobId, look(point)]);
  return new Map(seen.sort(([left], [right]) => (left < right ? -1 : 1)));
};

/** The cluster as a decision saw it, folded from the start for it alone. */
const foldedFor = (events: readonly ClusterEvent[], { position, assumed }: Decision): ClusterState => {
  const cluster = emptyCluster();
  for (const event of events) if (event.position <= BigInt(position)) applyEvent(cluster, event);
  for (const { type, stream, data } of events) {
    const claim = data as AssumedReservation;
    if (type === 'CapacityReserved' && assumed.includes(claim.executionId)) {
      assume(cluster, { ...claim, nodeId: stream.slice('node-'.length) });
    }
  }
  return cluster;
};

const changedNaively = (events: readonly ClusterEvent[], weights: Weights): string[] =>
  decisionsIn(events).flatMap(({ stream, data }) => {
    const decision = data as Decision;
    const cluster = foldedFor(events, decision);
    const job = cluster.jobs.get(stream.slice('job-'.length))!;
    const request = requestOf(job, decision.partition);
    const other = decide({ ...request, spec: { ...request.spec, weights } }, cluster, decision).decision;
    return other.winner === decision.winner ? [] : [job.id];
  });

const WEIGHTS: Weights = { resources: 0, reliability: 0, availability: 60, queue: 40, cost: 0 };

describe('deriving decisions again', () => {
  it('A-18 A-20 A-21 every decision of any history comes out the same, 10,000 of them, in one pass through each log', async () => {
    let decisions = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const events = new Histories().history(taken);
        const verdicts = await visit(decisionPoints(storeOf(events), {}), verifyPoint);
        expect(verdicts.size).toBe(decisionsIn(events).length);
        decisions += verdicts.size;
        expect([...verdicts.values()].filter((verdict) => (verdict as Verdict).kind !== 'verified')).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
    expect(decisions).toBeGreaterThan(10_000);
  });

  it('S-05 A-92 the changes of a daemon’s nodes come out the same, and so do decisions for one node', async () => {
    const counts = { targets: 0, parts: 0 };
    await fc.assert(
      fc.asyncProperty(stepsWithDaemons, async (taken) => {
        const events = new Histories().history(taken);
        const wrong: unknown[] = [];
        let seen = 0;
        for await (const point of decisionPoints(storeOf(events), {})) {
          const verdict = verifyPoint(point);
          seen += 1;
          if (!isOfDecision(point)) counts.targets += 1;
          else if (point.recorded.decision.target !== undefined) counts.parts += 1;
          if (verdict.kind !== 'verified') wrong.push(verdict);
        }
        expect(wrong).toEqual([]);
        expect(seen).toBe(events.filter(({ type }) => DERIVED.has(type)).length);
      }),
      { numRuns: 300 },
    );
    expect(counts.targets).toBeGreaterThan(200);
    expect(counts.parts).toBeGreaterThan(100);
  });

  it('A-21 one recorded after the window is not lost: a second reading derives it', async () => {
    let late = 0;
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(4), async (taken, window) => {
        const events = new Histories().history(taken);
        const walk = new DecisionWalk(undefined, window);
        const verdicts: unknown[] = [];
        const judge = (point: DerivationPoint): void => void verdicts.push(verifyPoint(point).kind);
        for (const event of events) for (const point of walk.push(event)) judge(point);
        for (const point of walk.end()) judge(point);
        for await (const point of pointsOf(storeOf(events), walk.late)) judge(point);
        late += walk.late.length;
        expect(verdicts).toEqual(decisionsIn(events).map(() => 'verified'));
      }),
      { numRuns: 100 },
    );
    expect(late).toBeGreaterThan(0);
  });

  it('A-66 other weights list exactly the decisions whose winner changes', async () => {
    let changed = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const events = new Histories().history(taken);
        const outcomes = await visit(
          decisionPoints(storeOf(events), {}),
          (point) => isOfDecision(point) && withOtherWeights(point, { weights: WEIGHTS }).kind,
        );
        const listed = [...outcomes].flatMap(([jobId, kind]) => (kind === 'changed' ? [jobId] : []));
        expect(listed.sort()).toEqual(changedNaively(events, WEIGHTS).sort());
        changed += listed.length;
      }),
      { numRuns: 100 },
    );
    expect(changed).toBeGreaterThan(0);
  });
});

describe('a record that was tampered with', () => {
  const world = (): Histories => {
    const history = new Histories();
    history.history([
      ['node', 3],
      ['node', 6],
      ['decide', 0],
      ['decide', 1],
      ['claim', 1],
      ['record', 1],
    ]);
    return history;
  };

  const tampered = async (change: (decision: Decision) => Partial<Decision>): Promise<unknown[]> => {
    const events = world().events.map((event) => {
      if (event.stream !== 'job-j1' || event.type !== 'PlacementDecided') return event;
      const decision = event.data as Decision;
      return { ...event, data: { ...decision, ...change(decision) } };
    });
    const verdicts = await visit(decisionPoints(storeOf(events), {}), verifyPoint);
    expect(verdicts.get('j2')).toEqual({ kind: 'verified' });
    return [verdicts.get('j1')];
  };

  it('A-88 A-89 is found, with the place and both values', async () => {
    const other = { differences: [{ path: '/winner', recorded: 'n9', derived: 'n0' }] };
    expect(await tampered(() => ({ winner: 'n9' }))).toMatchObject([{ kind: 'differs', ...other }]);
    expect(await tampered(({ margin = 0 }) => ({ margin: margin + 0.001 }))).toMatchObject([
      { kind: 'differs', differences: [{ path: '/margin' }] },
    ]);
    expect(await tampered(() => ({ filtered: [], eligible: 1 }))).toMatchObject([
      { kind: 'differs', differences: [{ path: '/eligible', recorded: 1, derived: 2 }] },
    ]);
  });

  it('is found when it says that it looked from elsewhere, or took for granted what never was', async () => {
    for (const position of ['0', '999999', 'x']) {
      expect(await tampered(() => ({ position }))).toMatchObject([{ kind: 'differs' }]);
    }
    expect(await tampered(() => ({ assumed: ['j9.1'] }))).toMatchObject([
      { kind: 'differs', differences: [{ path: '/assumed', recorded: 'j9.1' }] },
    ]);
  });

  it('A-21 a record that kept more of the ranking than is kept now is the same decision, one that kept less is not', async () => {
    const history = new Histories();
    history.history([...Array.from({ length: 7 }, (_, pick) => ['node', pick] as const), ['decide', 0], ['record', 0]]);
    const kept = async (change: (ranking: Decision['ranking']) => Decision['ranking']): Promise<unknown[]> => {
      const events = history.events.map((event) => {
        if (event.type !== 'PlacementDecided') return event;
        const decision = event.data as Decision;
        return { ...event, data: { ...decision, ranking: change(decision.ranking) } };
      });
      return [...(await visit(decisionPoints(storeOf(events), {}), verifyPoint)).values()];
    };
    expect(await kept((ranking) => [...ranking, ...ranking.slice(1)])).toEqual([{ kind: 'verified' }]);
    expect(await kept((ranking) => ranking.slice(0, 3))).toMatchObject([
      { kind: 'differs', differences: [{ path: '/ranking/3' }, { path: '/ranking/4' }] },
    ]);
  });

  it('a decision by another version is told apart from one that differs', async () => {
    const versions = { algorithm: 'placement/0', weights: 'profiles/1' };
    expect(await tampered(() => ({ versions, winner: 'n9' }))).toEqual([
      { kind: 'other-version', version: 'placement/0 profiles/1' },
    ]);
  });
});

describe('a change of nodes that was tampered with', () => {
  const changed = async (change: Partial<TargetsChanged['data']>): Promise<unknown[]> => {
    const history = new Histories();
    history.history([...[3, 4, 5].map((pick) => ['node', pick] as const), ['cordon', 1], ['match', 0], ['record', 0]]);
    const events = history.events.map((event) =>
      event.type === 'TargetsChanged' ? { ...event, data: { ...(event.data as object), ...change } } : event,
    );
    const verdicts: unknown[] = [];
    for await (const point of decisionPoints(storeOf(events), {})) verdicts.push(verifyPoint(point));
    return verdicts;
  };

  it('S-04 A-88 is found, with the place and both values', async () => {
    expect(await changed({})).toEqual([{ kind: 'verified' }]);
    expect(await changed({ added: [{ partition: 0, nodeId: 'n0' }] })).toMatchObject([
      { kind: 'differs', differences: [{ path: '/added/1', recorded: null, derived: { partition: 1, nodeId: 'n2' } }] },
    ]);
    expect(await changed({ removed: [0] })).toMatchObject([
      { kind: 'differs', differences: [{ path: '/removed/0', recorded: 0, derived: null }] },
    ]);
    expect(await changed({ algorithm: 'placement/0' })).toEqual([{ kind: 'other-version', version: 'placement/0' }]);
  });
});

describe('a range', () => {
  it('goes by the positions of the decisions’ own events; the start is exclusive', async () => {
    const events = new Histories().history([
      ['node', 5],
      ['decide', 1],
      ['record', 0],
      ['decide', 1],
      ['record', 0],
    ]);
    const [first, second_] = decisionsIn(events).map(({ position }) => position);
    const jobs = async (range: Parameters<typeof decisionPoints>[1]): Promise<string[]> => [
      ...(await visit(decisionPoints(storeOf(events), range), () => 0)).keys(),
    ];
    expect(await jobs({ after: first })).toEqual(['j2']);
    expect(await jobs({ upTo: first })).toEqual(['j1']);
    expect(await jobs({ jobId: 'j2' })).toEqual(['j2']);
    expect(await jobs({ jobId: 'j2', after: second_ })).toEqual([]);
  });
});
