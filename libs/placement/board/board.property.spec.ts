import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JobSpec } from '#jobs';
import type { Inventory, Policy } from '#nodes';
import { aGpu, anInventory, second } from '#testing';
import { applyEvent, assume, decide, emptyCluster, unassume } from '../index.js';
import type { ClusterState, PlacementRequest } from '../index.js';
import { referenceDecision } from '../testing/reference.js';
import { contextAt, GIB, World } from '../testing/world.js';

/*
 * Boards remember; what they answer must not show it. Random histories go on while jobs of a few shapes are decided in
 * between, on a cluster whose boards are warm; each answer is compared with one worked out node by node, and with that of
 * a cluster that never was asked before.
 */

const NODES = ['n0', 'n1', 'n2', 'n3', 'n4'] as const;
const nodeId = fc.constantFrom(...NODES);
const resources = { cpu: 1, memory: GIB, disk: 0, ioSlots: 0 };

const SHAPES: readonly Partial<JobSpec>[] = [
  { estimate: { duration: 600 } },
  { estimate: { duration: 7_200 }, resources: { ...resources, cpu: 4 }, budget: { maxCost: 3 } },
  {
    application: { name: 'node', version: '>=20' },
    profile: 'interactive',
    estimate: {},
    inputs: [{ source: 'sha256:a', path: 'a' }],
  },
  { resources: { ...resources, gpu: { count: 1, share: 0.5, models: [] } }, constraints: ['rack'] },
  { type: 'daemon', preferences: [{ constraint: 'rack = a1', weight: 50 }] },
  { type: 'service', estimate: { duration: 60 }, resources: { ...resources, memory: 8 * GIB } },
  // As the first asks, but what is scored differs with the type.
  { type: 'service', estimate: { duration: 600 } },
  { type: 'ops', estimate: { duration: 600 } },
  { task: { command: ['tool'], env: {}, image: 'quay.io/lab/tool:1' }, estimate: { duration: 600 } },
];

const strict: fc.Arbitrary<Policy> = fc.record(
  {
    allow: fc.constantFrom({ institutions: ['usp'] }, { projects: ['other'] }),
    maxDuration: fc.constantFrom(60, 7200),
    maxShare: fc.constantFrom({ demo: 0.5 }),
    price: fc.record({ cpuHour: fc.integer({ min: 0, max: 4 }) }),
    windows: fc.constantFrom(
      [],
      [{ days: ['thu' as const], from: '00:00', to: '05:00', timeZone: 'UTC' }],
      [{ days: ['thu' as const, 'fri' as const], from: '18:00', to: '08:00', timeZone: 'Europe/Berlin' }],
    ),
  },
  { requiredKeys: [] },
);
/** Most owners demand nothing, or nothing would ever be placed. */
const policy = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Policy>({}) },
  { weight: 1, arbitrary: fc.record({ price: fc.record({ cpuHour: fc.integer({ min: 0, max: 4 }) }) }) },
  { weight: 1, arbitrary: strict },
);

const inventory: fc.Arbitrary<Partial<Inventory>> = fc.record(
  {
    architecture: fc.constantFrom('x64', 'arm64'),
    cpu: fc.constantFrom(1, 4, 16),
    memory: fc.constantFrom(4 * GIB, 16 * GIB),
    applications: fc.constantFrom([], [{ name: 'node', version: '24.0.0' }]),
    labels: fc.constantFrom<Record<string, string>>({}, { rack: 'a1' }, { rack: 'b1' }),
    gpus: fc.constantFrom([], [{ id: 'g0', model: 'T4', memory: 16 * GIB }]),
    container: fc.constantFrom({ engine: 'podman' as const, version: '4.3.1' }),
  },
  { requiredKeys: ['labels'] },
);

type Step = (story: Story) => void;

class Story {
  readonly world = new World();
  readonly live: { readonly jobId: string; readonly executionId: string; readonly nodeId: string }[] = [];
  now = 3_600;
  private jobs = 0;

  wait(span: number): void {
    this.now = Math.max(0, this.now + span);
  }

  has(id: string): boolean {
    return this.world.cluster.nodes.has(id);
  }

  submit(shape: number): string {
    const jobId = `job-${(this.jobs += 1)}`;
    this.world.job(jobId, SHAPES[shape]);
    return jobId;
  }

  /** The warm answer against both others. */
  check(request: PlacementRequest): void {
    const { cluster } = this.world;
    const context = contextAt(second(this.now));
    const warm = decide(request, cluster, context);
    expect(warm).toEqual(decide(request, cold(cluster), context));
    expect(warm.decision).toMatchObject(referenceDecision(request, cluster, context));
  }
}

/** The same state as another object, which no board knows. */
const cold = (cluster: ClusterState): ClusterState => ({ ...cluster });

const enrol =
  (id: string, has: Partial<Inventory>, accepts: Policy): Step =>
  ({ world, now }) => {
    if (world.cluster.nodes.has(id)) {
      const data = { inventory: anInventory(has), at: second(now) };
      world.onNode(id, { type: 'NodeInventoryChanged', data });
    } else world.node(id, { inventory: has, policy: accepts, at: now });
  };

const changePolicy =
  (id: string, accepts: Policy): Step =>
  (story) => {
    if (!story.has(id)) return;
    story.world.onNode(id, { type: 'NodePolicyChanged', data: { policy: accepts, at: second(story.now) } });
  };

const turn =
  ([id, how]: [string, 'on' | 'off' | 'cordon' | 'uncordon']): Step =>
  ({ world, now }) => {
    const at = second(now);
    if (how === 'on') world.onNode(id, { type: 'NodeWentOnline', data: { at } });
    if (how === 'off') world.onNode(id, { type: 'NodeWentOffline', data: { lastSeenAt: at, reason: 'silent', at } });
    if (how === 'cordon') world.onNode(id, { type: 'NodeCordoned', data: { reason: 'disk', at } });
    if (how === 'uncordon') world.onNode(id, { type: 'NodeUncordoned', data: { at } });
  };

const place =
  (shape: number, ends: boolean): Step =>
  (story) => {
    const { world, live, now } = story;
    const jobId = story.submit(shape);
    const { nodeId: chosen, contract } = world.decide(jobId, second(now));
    if (chosen === undefined || !contract) return;
    live.push({ jobId, nodeId: chosen, executionId: world.reserve(jobId, chosen, contract, 0, second(now)) });
    // Its capacity is still held: the job is over before the release.
    if (ends) world.onJob(jobId, { type: 'JobCancelled', data: { reason: 'asked', at: second(now) } });
  };

const endOne =
  (index: number): Step =>
  ({ world, live, now }) => {
    const [execution] = live.splice(index, 1);
    if (execution) world.release(execution.nodeId, execution.executionId, second(now));
  };

const tryOn =
  ([id, outcome]: [string, 'infrastructure' | 'success']): Step =>
  ({ world, now }) => {
    if (world.cluster.nodes.has(id)) world.run(id, outcome, SHAPES[2], second(now));
  };

/** Told on the job's stream alone: what it held is still held. */
const tellOne =
  ([index, what]: [number, 'started' | 'failed']): Step =>
  ({ world, live, now }) => {
    const execution = live[index];
    if (!execution) return;
    const { jobId, executionId } = execution;
    const at = second(now);
    if (what === 'started') world.onJob(jobId, { type: 'ExecutionStarted', data: { executionId, at } });
    else world.onJob(jobId, { type: 'ExecutionLost', data: { executionId, reason: 'silent', at } });
  };

/** Everything of the application fails there, other work does not; so one job of it may run at a time. */
const spoilApplication =
  (id: string): Step =>
  ({ world, now }) => {
    if (!world.cluster.nodes.has(id)) return;
    for (let count = 0; count < 3; count += 1) world.run(id, 'infrastructure', SHAPES[2], second(now));
    world.run(id, 'success', {}, second(now));
  };

const measure =
  ([id, latencyClass]: [string, 'local' | 'remote']): Step =>
  ({ world, now }) =>
    world.onNode(id, { type: 'NodeLatencyChanged', data: { latencyClass, roundTrip: 0.1, at: second(now) } });

const quota =
  (cpu: number | undefined): Step =>
  ({ world }) =>
    world.project({ quota: cpu === undefined ? {} : { cpu } });

const assumeOn =
  (id: string): Step =>
  ({ world: { cluster } }) => {
    const executionId = `assumed-on-${id}`;
    const contract = { ...resources, gpus: [] };
    if (cluster.assumed.has(executionId)) unassume(cluster, executionId);
    else assume(cluster, { executionId, nodeId: id, jobId: 'job-1', project: 'demo', contract });
  };

const ask =
  (shape: number, avoid: readonly string[], exclude: readonly string[], target: string | null): Step =>
  (story) => {
    const exclusions = new Map(exclude.map((id) => [id, second(story.now + 30)]));
    const own = target === null ? {} : { target };
    story.check(story.world.request(SHAPES[shape], { jobId: 'job-1', avoid: new Set(avoid), exclusions, ...own }));
  };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(nodeId, inventory, policy).map(([id, has, accepts]) => enrol(id, has, accepts)) },
  { weight: 1, arbitrary: fc.tuple(nodeId, policy).map(([id, accepts]) => changePolicy(id, accepts)) },
  {
    weight: 1,
    arbitrary: fc.tuple(nodeId, fc.constantFrom('on', 'on', 'off', 'cordon', 'uncordon', 'uncordon')).map(turn),
  },
  { weight: 4, arbitrary: fc.tuple(fc.nat(5), fc.boolean()).map(([shape, late]) => place(shape, late)) },
  { weight: 2, arbitrary: fc.nat(7).map(endOne) },
  { weight: 2, arbitrary: fc.tuple(fc.nat(7), fc.constantFrom('started' as const, 'failed' as const)).map(tellOne) },
  { weight: 1, arbitrary: nodeId.map(spoilApplication) },
  { weight: 1, arbitrary: fc.tuple(nodeId, fc.constantFrom('local' as const, 'remote' as const)).map(measure) },
  { weight: 1, arbitrary: fc.tuple(nodeId, fc.constantFrom('infrastructure' as const, 'success' as const)).map(tryOn) },
  { weight: 1, arbitrary: fc.option(fc.integer({ min: 2, max: 30 })).map((cpu) => quota(cpu ?? undefined)) },
  { weight: 1, arbitrary: nodeId.map(assumeOn) },
  { weight: 2, arbitrary: fc.integer({ min: -600, max: 40_000 }).map((span) => (story: Story) => story.wait(span)) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        fc.nat(5),
        fc.subarray([...NODES]),
        fc.subarray([...NODES], { maxLength: 2 }),
        fc.option(nodeId, { freq: 2 }),
      )
      .map(([shape, avoid, exclude, target]) => ask(shape, avoid, exclude, target)),
  },
);

describe('boards', () => {
  it('A-21 a remembered answer is the one that is worked out anew', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
        const story = new Story();
        for (const id of NODES.slice(0, 3))
          enrol(id, { gpus: [aGpu({ id: 'g0' })], labels: { rack: 'a1' } }, {})(story);
        for (const run of steps) run(story);
        for (const shape of SHAPES) story.check(story.world.request(shape));
        const folded = emptyCluster();
        for (const event of story.world.events) applyEvent(folded, event);
        for (const id of story.world.cluster.assumed.keys()) {
          const held = story.world.cluster.nodes.get(story.world.cluster.assumed.get(id)!)!.ledger.get(id)!;
          assume(folded, { ...held, nodeId: story.world.cluster.assumed.get(id)! });
        }
        const context = contextAt(second(story.now));
        for (const shape of SHAPES) {
          const request = story.world.request(shape);
          expect(decide(request, folded, context)).toEqual(decide(request, story.world.cluster, context));
        }
      }),
      { numRuns: 120 },
    );
  });

  it('A-21 S-03 S-04 jobs that differ in nothing but their type have each its own profile and order', () => {
    const story = new Story();
    for (const id of NODES) enrol(id, { labels: {} }, {})(story);
    for (const type of ['ops', 'service', 'batch', 'daemon', 'ops'] as const) {
      story.check(story.world.request({ type }));
      story.check(story.world.request({ type, resources: { ...resources, cpu: 2 } }));
    }
  });

  it('A-34 a trial job that is over makes room for the next one, although its capacity is still held', () => {
    const story = new Story();
    enrol('n0', { applications: [{ name: 'node', version: '24.0.0' }], labels: {} }, {})(story);
    spoilApplication('n0')(story);
    const request = story.world.request(SHAPES[2]);
    place(2, false)(story);
    story.check(request);
    expect(decide(request, story.world.cluster, contextAt(second(story.now))).decision.outcome).toBe('deferred');
    const { jobId } = story.live[0]!;
    story.world.onJob(jobId, { type: 'JobCancelled', data: { reason: 'asked', at: second(story.now) } });
    story.check(request);
    expect(decide(request, story.world.cluster, contextAt(second(story.now))).decision.outcome).toBe('placed');
  });
});
