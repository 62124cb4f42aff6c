import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { TaskDependency, TaskEnd, TaskRequest } from '../index.js';
import { Bench, estimate, settle } from '../testing/bench.js';

const one = estimate({ cpu: 1 });
const after = (task: string, when: TaskDependency['when'] = 'completed') => ({ dependsOn: [{ task, when }] });
const wide = () => new Bench({}, [{ name: 'tasks', workers: 9 }]);

describe('G-55 tasks that depend on others', () => {
  it('stand in line only when all they wait for has ended as they want', async () => {
    const bench = wide();
    await bench.start('a', one);
    await bench.start('b', one);
    await bench.start('c', one, {
      dependsOn: [
        { task: 'a', when: 'completed' },
        { task: 'b', when: 'failed' },
      ],
    });
    expect([bench.state('c'), bench.queue.task('c')?.blockedBy]).toEqual(['blocked', ['a', 'b']]);
    await bench.finish('a');
    expect([bench.state('c'), bench.queue.task('c')?.blockedBy]).toEqual(['blocked', ['b']]);
    await bench.fail('b', new Error('as hoped'));
    expect(bench.state('c')).toBe('running');
  });

  it.each([
    ['completed', 'completed', 'running'],
    ['completed', 'failed', 'failed'],
    ['completed', 'terminal', 'running'],
    ['failed', 'completed', 'failed'],
    ['failed', 'failed', 'running'],
    ['failed', 'terminal', 'running'],
    ['cancelled', 'completed', 'failed'],
    ['cancelled', 'failed', 'failed'],
    ['cancelled', 'terminal', 'running'],
  ] as const)('after one that is %s, one that waits for %s is %s; now or submitted later', async (end, when, state) => {
    const bench = wide();
    await bench.start('a', one);
    await bench.start('early', one, after('a', when));
    if (end === 'completed') await bench.finish('a');
    else if (end === 'failed') await bench.fail('a', new Error('no'));
    else bench.queue.cancel('a', 'no');
    await settle();
    await bench.start('late', one, after('a', when));
    expect([bench.state('early'), bench.state('late')]).toEqual([state, state]);
  });

  it('run once where all they wait for was over before they came', async () => {
    const bench = wide();
    await bench.start('a', one);
    await bench.finish('a');
    await bench.start('b', one, after('a'));
    expect(bench.queue.lane('tasks')?.waiting).toEqual([]);
    await bench.finish('b');
    bench.queue.resourcesChanged();
    await settle();
    expect([bench.count('started', 'b'), bench.count('released', 'b')]).toEqual([1, 1]);
  });

  it('stand in line once where what they wait for ends as it is submitted', async () => {
    const bench = wide();
    await bench.start('a', one);
    await bench.fail('a', new Error('no'));
    bench.queue.submitAll([
      bench.request('never', one, after('a')),
      bench.request('cleanup', one, after('never', 'failed')),
      bench.request('skipped', one, after('never')),
    ]);
    await settle();
    expect(['never', 'cleanup', 'skipped'].map((id) => bench.state(id))).toEqual(['failed', 'running', 'failed']);
    expect([bench.queue.lane('tasks')?.waiting, bench.count('started', 'cleanup')]).toEqual([[], 1]);
  });

  it('say at once when what they wait for can never be, down the whole chain, and are not called', async () => {
    const bench = wide();
    await bench.start('a', one);
    const chain = Array.from({ length: 2000 }, (_, index) => `t${index}`);
    chain.forEach((id, index) => bench.submit(id, one, after(index === 0 ? 'a' : `t${index - 1}`)));
    bench.submit('cleanup', one, after('t1999', 'failed'));
    await bench.fail('a', new Error('no'));
    expect(bench.ends.get('t0')).toEqual({
      state: 'failed',
      reason: { code: 'dependency.never-met', message: 'a is failed, and this task waits for it to be completed' },
    });
    expect(chain.every((id) => bench.state(id) === 'failed')).toBe(true);
    expect(bench.started()).toEqual(['a', 'cleanup']);
    expect(bench.count('examined', 't0')).toBe(0);
  });

  it('keep their place by submission once they may stand in line', async () => {
    const bench = new Bench();
    await bench.start('a', one);
    bench.submit('b', one, after('a'));
    bench.submit('c', one);
    await bench.finish('a');
    await bench.finish('b');
    expect(bench.started()).toEqual(['a', 'b', 'c']);
  });

  it('can be cancelled while blocked, and destroyed as cancelled', async () => {
    const bench = wide();
    await bench.start('a', one);
    await bench.start('b', one, after('a'));
    await bench.start('c', one, after('b'));
    bench.queue.cancel('b', 'no');
    await settle();
    expect([bench.state('b'), bench.state('c')]).toEqual(['cancelled', 'failed']);
    await bench.start('d', one, after('a'));
    await bench.queue.destroy();
    expect(bench.ends.get('d')?.state).toBe('cancelled');
  });
});

describe('G-55 a submission', () => {
  const request = (id: string, ...needs: string[]): TaskRequest => ({
    id,
    estimate: one,
    work: () => undefined,
    dependsOn: needs.map((task) => ({ task, when: 'terminal' })),
  });
  const refusal = (bench: Bench, ...requests: TaskRequest[]) => {
    const answer = bench.queue.submitAll(requests);
    return answer.kind === 'rejected' ? answer.rejection : undefined;
  };

  it('may name its tasks in any order', async () => {
    const bench = wide();
    const answer = bench.queue.submitAll([request('c', 'b'), request('b', 'a'), request('a')]);
    if (answer.kind === 'rejected') throw new Error(answer.rejection.message);
    expect((await Promise.all(answer.ended)).map(({ state }: TaskEnd) => state)).toEqual([
      'completed',
      'completed',
      'completed',
    ]);
    expect(bench.steps.flatMap((step) => (step.step === 'started' ? [step.task] : []))).toEqual(['a', 'b', 'c']);
  });

  it('with a cycle is refused, and the cycle named', () => {
    const bench = wide();
    expect(refusal(bench, request('a', 'a'))).toMatchObject({
      code: 'DEPENDENCY_CYCLE',
      message: 'tasks wait for one another: a → a',
    });
    const around = refusal(
      bench,
      request('x', 'b'),
      request('a', 'c'),
      request('b', 'a'),
      request('c', 'b'),
      request('y'),
    );
    expect(around?.message).toBe('tasks wait for one another: b → a → c → b');
    expect(bench.queue.task('y')).toBeUndefined();
  });

  it('is refused with every mistake named, and nothing of it is taken', () => {
    const bench = wide();
    bench.submit('old', one);
    const bad = { ...request('bad'), estimate: estimate({ cpu: -1 }), priority: Number.NaN, lane: 'none' };
    const found = refusal(bench, request('old'), request('a', 'ghost'), bad, request('a'), request('good'));
    expect(found?.details?.['mistakes']).toMatchObject([
      { code: 'TASK_DUPLICATE', message: 'old: a task of this id is there already' },
      { code: 'DEPENDENCY_UNKNOWN', message: 'a: depends on ghost, which is not there' },
      { code: 'ESTIMATE_INVALID' },
      { code: 'PRIORITY_INVALID' },
      { code: 'LANE_UNKNOWN' },
      { code: 'TASK_DUPLICATE' },
    ]);
    expect([bench.queue.task('good'), bench.count('created')]).toEqual([undefined, 1]);
  });

  it('of any graph without a cycle runs all tasks, each after those it needs; any other is refused', async () => {
    const edges = fc.array(fc.tuple(fc.nat({ max: 7 }), fc.nat({ max: 7 })), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(edges, async (all) => {
        const bench = wide();
        const needs = (id: number) => all.filter(([from]) => from === id).map(([, to]) => to);
        const requests = Array.from({ length: 8 }, (_, id) => request(`${id}`, ...needs(id).map(String)));
        const reaches = (from: number, to: number, seen = new Set<number>()): boolean =>
          needs(from).some((next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))));
        const cyclic = requests.some((_, id) => reaches(id, id));
        expect(refusal(bench, ...requests)?.code).toBe(cyclic ? 'DEPENDENCY_CYCLE' : undefined);
        if (cyclic) return;
        await settle();
        const at = (step: string, task: string) =>
          bench.steps.findIndex((one) => one.step === step && 'task' in one && one.task === task);
        for (const [from, to] of all) expect(at('ended', `${to}`)).toBeLessThan(at('started', `${from}`));
        expect(bench.count('ended')).toBe(8);
      }),
      { numRuns: 300 },
    );
  });
});
