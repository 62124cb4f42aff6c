import { Scheduler } from '../scheduler.js';
import type { EvaluationOutcome, JobScheduler } from '../worker/job-scheduler.js';
import type { SchedulingWorld } from './scheduling-world.js';

/** A scheduler whose passes a test ends by hand. */
export const scripted = async (world: SchedulingWorld, workers = 64) => {
  const asked: { jobId: string; trigger: string; answer: (outcome: EvaluationOutcome | Error) => Promise<void> }[] = [];
  const scripts: JobScheduler = {
    process: ({ jobId, trigger }) =>
      new Promise<EvaluationOutcome>((resolve, reject) => {
        const answer = async (outcome: EvaluationOutcome | Error): Promise<void> => {
          asked.splice(asked.indexOf(one), 1);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
          await world.time.advanceAsync(0);
        };
        const one = { jobId, trigger, answer };
        asked.push(one);
      }),
  };
  const schedulers = { types: ['batch'], schedulerFor: () => scripts };
  await world.project();
  await world.live();
  const { view, jobs, clock, timers, random, ids, log, observer } = world;
  const options = { ...world.options, workers };
  const scheduler = new Scheduler({ view, schedulers, jobs, clock, timers, random, ids, log, observer, options });
  scheduler.start();
  const names = (): string[] => asked.map(({ jobId }) => jobId);
  const answer = async (jobId: string, outcome: EvaluationOutcome | Error): Promise<void> => {
    const one = asked.find((other) => other.jobId === jobId);
    if (!one) throw new Error(`${jobId} is not being evaluated`);
    await one.answer(outcome);
  };
  const submit = async (jobId: string, spec: object = {}): Promise<void> => {
    await world.submit(jobId, spec);
    await world.time.advanceAsync(1);
  };
  return { scheduler, names, answer, submit };
};
