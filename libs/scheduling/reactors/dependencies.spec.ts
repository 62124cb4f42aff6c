import { describe, expect, it } from '@jest/globals';
import type { Artifact, Dependency, JobCommand, JobSpec } from '#jobs';
import { jobStateName, jobStream } from '#jobs';
import { aJobSpec, aPlacement } from '#testing';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import { Dependencies } from './dependencies.js';

const after = (...parents: readonly (string | Dependency)[]): Pick<JobSpec, 'dependsOn'> => ({
  dependsOn: parents.map((parent) => (typeof parent === 'string' ? { job: parent, when: 'completed' } : parent)),
});

const watching = async (world: SchedulingWorld): Promise<Dependencies> => {
  await world.live();
  const reactor = new Dependencies(world);
  reactor.start();
  return reactor;
};

const settled = (world: SchedulingWorld): Promise<void> => world.time.advanceAsync(0);

/** Runs the one part of a job to a good end. */
const complete = async (
  world: SchedulingWorld,
  jobId: string,
  artifacts: readonly Artifact[] = [],
  execution = 1,
): Promise<void> => {
  await world.job(jobId, aPlacement(execution, 0, { jobId, confirm: 600 }));
  await world.report(`${jobId}.${execution}`, 'succeed', { exitCode: 0, artifacts, consumption: CONSUMPTION });
};

const anArtifact = (path: string, digit: string): Artifact => ({
  path,
  sha256: digit.repeat(64),
  size: 2 ** 30,
  mediaType: 'text/csv',
});

const CONSUMPTION = { cpuSeconds: 1, wallSeconds: 1, maxMemory: 1, maxDisk: 0, gpuSeconds: 0, bytesIn: 0, bytesOut: 0 };

const fail = (world: SchedulingWorld, jobId: string): Promise<unknown> => {
  const ending = { class: 'application', code: 'exit-code', message: 'exit code 3' } as const;
  return world.job(jobId, { type: 'FailJob', ...ending, at: world.now() });
};

const cancel = (world: SchedulingWorld, jobId: string): Promise<unknown> => {
  const command: JobCommand = { type: 'CancelJob', reason: 'not needed', byUser: true, at: world.now() };
  return world.job(jobId, command);
};

const states = async (world: SchedulingWorld, ...jobIds: readonly string[]): Promise<string[]> =>
  Promise.all(jobIds.map(async (jobId) => jobStateName(await world.state(jobId))));

describe('G-55 jobs that depend on others', () => {
  it('enter the queue when the last of their parents has ended as asked, which tells how each did', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    for (const parent of ['a', 'b', 'c']) await world.submit(parent);
    await world.submit('d', after('a', { job: 'b', when: 'failed' }, { job: 'c', when: 'terminal' }));
    await complete(world, 'a');
    await fail(world, 'b');
    await settled(world);
    expect(await states(world, 'd')).toEqual(['blocked']);
    await cancel(world, 'c');
    await settled(world);
    const [met] = world.events('job-d', 'DependenciesMet');
    expect(met?.data).toMatchObject({
      dependencies: [
        { job: 'a', outcome: 'completed' },
        { job: 'b', outcome: 'failed' },
        { job: 'c', outcome: 'cancelled' },
      ],
    });
    const [end] = world.events('job-c', 'JobCancelled');
    expect(met?.metadata).toMatchObject({ actor: 'system:dependencies', $causationId: end?.id });
    expect(await states(world, 'd')).toEqual(['queued']);
  });

  it('fail as soon as one parent ended otherwise, naming it and its state, and so do those after them', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    for (const parent of ['a', 'b']) await world.submit(parent);
    await world.submit('c', after('a', 'b'));
    await world.submit('d', after('c'));
    await world.submit('e', after({ job: 'c', when: 'failed' }));
    await fail(world, 'b');
    await settled(world);
    expect(await states(world, 'a', 'c', 'd', 'e')).toEqual(['queued', 'failed', 'failed', 'queued']);
    expect((await world.state('c')).ending).toEqual({
      class: 'policy',
      code: 'dependency-impossible',
      message: 'waits for job b to be completed, and it is failed',
    });
    expect((await world.state('d')).ending?.message).toBe('waits for job c to be completed, and it is failed');
  });

  it('are settled at once when their parents have ended already, also those that the cluster has forgotten', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    for (const parent of ['a', 'b']) await world.submit(parent);
    await complete(world, 'a');
    await fail(world, 'b');
    await settled(world);
    await world.submit('c', after('a'));
    await world.submit('d', after('b'));
    world.view.cluster.ended.clear();
    await world.submit('e', after('a'));
    await world.submit('f', after('nobody'));
    await settled(world);
    expect(await states(world, 'c', 'd', 'e', 'f')).toEqual(['queued', 'failed', 'queued', 'failed']);
    expect((await world.state('f')).ending?.message).toBe('waits for job nobody, which is not there');
  });

  it('are left alone once they have ended, and settled while they are paused', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    await world.submit('a');
    await world.submit('b', after('a'));
    await world.submit('c', after('a'));
    await cancel(world, 'b');
    await world.job('c', { type: 'PauseJob', reason: 'wait', at: world.now() });
    await complete(world, 'a');
    await settled(world);
    expect(world.types('job-b')).toEqual(['JobCancelRequested', 'JobCancelled']);
    expect(world.types('job-c')).toEqual(['JobPaused', 'DependenciesMet']);
    expect(await states(world, 'b', 'c')).toEqual(['cancelled', 'paused']);
  });

  it('are found by the next process, whatever was stored when the one before it died', async () => {
    for (const ends of [complete, fail]) {
      const world = new SchedulingWorld();
      const reactor = await watching(world);
      await world.submit('a');
      await world.submit('b', after('a'));
      await settled(world);
      await reactor.stop();
      await ends(world, 'a');
      await world.submit('c', after('a'));
      await settled(world);
      expect(await states(world, 'b', 'c')).toEqual(['blocked', 'blocked']);
      await watching(new SchedulingWorld({ beside: world }));
      await settled(world);
      const expected = ends === complete ? 'queued' : 'failed';
      expect(await states(world, 'b', 'c')).toEqual([expected, expected]);
    }
  });

  it('are told again what could not be stored, and twice by two processes without harm', async () => {
    const faults = onFirst('DependenciesMet', { kind: 'fail-before-storing', after: 10 }, 2);
    const world = new SchedulingWorld({ faults });
    await watching(world);
    await world.submit('a');
    await world.submit('b', after('a'));
    await complete(world, 'a');
    await world.time.advanceAsync(1_000);
    expect(await states(world, 'b')).toEqual(['blocked']);
    await world.time.advanceAsync(2_000);
    expect(await states(world, 'b')).toEqual(['queued']);

    const one = new SchedulingWorld();
    const other = new SchedulingWorld({ beside: one });
    await watching(one);
    await watching(other);
    await one.submit('a');
    await one.submit('b', after('a'));
    await complete(one, 'a');
    await settled(one);
    expect(one.types('job-b')).toEqual(['DependenciesMet']);
  });

  it('cost as much as there are, though thousands wait for one, or each for the one before it', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    await world.submit('root');
    const wide = Array.from({ length: 3_000 }, (_, index) => `w${String(index)}`);
    const chain = Array.from({ length: 300 }, (_, index) => `c${String(index)}`);
    for (const jobId of wide) await world.submit(jobId, after('root'));
    for (const [index, jobId] of chain.entries()) await world.submit(jobId, after(chain[index - 1] ?? 'root'));
    await settled(world);
    let loads = 0;
    const { jobs } = world;
    const [handle, load] = [jobs.handle.bind(jobs), jobs.load.bind(jobs)];
    Object.assign(jobs, {
      handle: (...given: Parameters<typeof handle>) => ((loads += 1), handle(...given)),
      load: (...given: Parameters<typeof load>) => ((loads += 1), load(...given)),
    });
    await fail(world, 'root');
    await settled(world);
    const failed = [...wide, ...chain].filter((jobId) => world.events(jobStream(jobId), 'JobFailed').length === 1);
    expect(failed).toHaveLength(wide.length + chain.length);
    expect(loads).toBe(1 + failed.length);
  });
});

describe('G-55 the whole loop', () => {
  it('A-01 S-10 looks at a job only when its dependencies are met, with the evaluation of its submission', async () => {
    const world = new SchedulingWorld();
    const loop = await world.looping();
    await world.project();
    await world.node('n1');
    await world.submit('a', { resources: { cpu: 6, memory: 1, disk: 0, ioSlots: 0 } });
    await world.submit('b', { ...after('a'), timeouts: { confirm: 15, queue: 5 } });
    const large = { resources: { cpu: 64, memory: 1, disk: 0, ioSlots: 0 } };
    await world.submit('c', { ...after('a'), ...large, timeouts: { confirm: 15, queue: 5 } });
    await settled(world);
    await world.report((await world.execution('a')).executionId, 'start');
    await world.job('b', { type: 'ChangePriority', priority: 90, at: world.now() });
    await world.time.advanceAsync(10_000);
    expect(world.types('job-b')).toEqual(['JobPriorityChanged']);
    const { executionId } = await world.execution('a');
    await world.report(executionId, 'succeed', { exitCode: 0, artifacts: [], consumption: CONSUMPTION });
    await settled(world);
    expect(world.types('job-b').slice(1)).toEqual(['DependenciesMet', 'PlacementDecided', 'ExecutionReserved']);
    expect(world.events('job-b', 'PlacementDecided')[0]?.data).toMatchObject({
      evaluationId: 'b-1',
      trigger: 'DependenciesMet',
    });
    await world.time.advanceAsync(4_999);
    expect(world.types('job-c')).toEqual(['DependenciesMet', 'PlacementDecided']);
    await world.time.advanceAsync(1);
    expect((await world.state('c')).ending).toMatchObject({ code: 'queue-timeout' });
    await loop.stop();
  });

  it('E-04 have what they read of their parents recorded when they enter the queue, and are placed and run by it', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    for (const parent of ['a', 'b']) await world.submit(parent);
    const inputs = [
      { source: 'job:a/out.csv', path: 'in.csv' },
      { source: 'job:b/plots/p.csv', path: 'p.csv', sha256: 'b'.repeat(64) },
      { source: 'https://example.org/x', path: 'x' },
    ];
    await world.submit('c', { ...after('a', 'b'), inputs });
    await complete(world, 'a', [anArtifact('other.csv', '9'), anArtifact('out.csv', 'a')]);
    await complete(world, 'b', [anArtifact('plots/p.csv', 'b')]);
    await settled(world);
    const size = 2 ** 30;
    expect(world.events('job-c', 'DependenciesMet')[0]?.data).toMatchObject({
      inputs: [
        { source: 'job:a/out.csv', sha256: 'a'.repeat(64), size },
        { source: 'job:b/plots/p.csv', sha256: 'b'.repeat(64), size },
      ],
    });
    expect(world.view.cluster.jobs.get('c')?.spec.inputs).toEqual([
      { ...inputs[0], sha256: 'a'.repeat(64), size },
      { ...inputs[1], size },
      inputs[2],
    ]);
    expect((await world.state('c')).spec?.inputs).toEqual(inputs);
  });

  it('E-04 read what the try left that completed their parent, not one that failed before it', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    await world.submit('a', { retry: { ...aJobSpec().retry, attempts: 2, on: ['infrastructure'] } });
    await world.submit('c', { ...after('a'), inputs: [{ source: 'job:a/out.csv', path: 'in.csv' }] });
    await world.job('a', aPlacement(1, 0, { jobId: 'a', confirm: 600 }));
    const failure = { class: 'infrastructure', code: 'disk', message: 'broken', consumption: CONSUMPTION } as const;
    await world.report('a.1', 'fail', { ...failure, artifacts: [anArtifact('out.csv', '1')] });
    expect(world.types('job-a')).toContain('JobRequeued');
    await complete(world, 'a', [anArtifact('out.csv', '2')], 2);
    await settled(world);
    expect(world.events('job-c', 'DependenciesMet')[0]?.data).toMatchObject({ inputs: [{ sha256: '2'.repeat(64) }] });
  });

  it('E-04 fail at once when a parent has not left what they read, naming everything that is missing', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    await world.submit('a');
    const inputs = [
      { source: 'job:a/none.csv', path: 'n.csv' },
      { source: 'job:a/out.csv', path: 'in.csv', sha256: 'c'.repeat(64) },
    ];
    await world.submit('c', { ...after('a'), inputs });
    await world.submit('d', after('c'));
    await complete(world, 'a', [anArtifact('out.csv', 'a')]);
    await settled(world);
    expect(await states(world, 'c', 'd')).toEqual(['failed', 'failed']);
    expect((await world.state('c')).ending).toEqual({
      class: 'input',
      code: 'input-missing',
      message:
        '/inputs/0: job a is completed and left no none.csv; ' +
        `/inputs/1: job a left out.csv with sha256 ${'a'.repeat(64)}, not ${'c'.repeat(64)}`,
    });
  });

  it('E-04 take what a failed parent left, when they wait for that', async () => {
    const world = new SchedulingWorld();
    await watching(world);
    await world.submit('a');
    const inputs = [{ source: 'job:a/core.dump', path: 'core' }];
    await world.submit('c', { ...after({ job: 'a', when: 'failed' }), inputs });
    await world.job('a', aPlacement(1, 0, { jobId: 'a', confirm: 600 }));
    const failure = {
      class: 'application',
      code: 'exit-code',
      message: 'exit code 3',
      consumption: CONSUMPTION,
    } as const;
    await world.report('a.1', 'fail', { ...failure, artifacts: [anArtifact('core.dump', '5')] });
    await settled(world);
    expect(world.events('job-c', 'DependenciesMet')[0]?.data).toMatchObject({ inputs: [{ sha256: '5'.repeat(64) }] });
  });
});
