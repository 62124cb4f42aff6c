import { byText, seededRandom } from '#kernel';
import type { TraceJob, TraceNode } from './trace.js';

/** Thousandths of devices. */
export const gpuMilliOf = ({ gpus, gpuMilli }: TraceJob): number => gpus * gpuMilli;

export const gpuCapacity = (nodes: readonly TraceNode[]): number =>
  nodes.reduce((sum, { gpus }) => sum + gpus * 1000, 0);

/** By time of creation, then by name, so that the order of lines means nothing. */
export const inOrderOfTime = (jobs: readonly TraceJob[]): TraceJob[] =>
  [...jobs].sort((left, right) => left.createdAt - right.createdAt || byText(left.name, right.name));

/**
 * The jobs in an order drawn with the seed, and then more of them, drawn with replacement, until the GPU shares asked for are
 * `ratio` times those that exist: how published results inflate a trace. A job drawn again gets a name of its own. Fewer are
 * never given.
 */
export const inflated = (
  jobs: readonly TraceJob[],
  nodes: readonly TraceNode[],
  ratio: number,
  seed: number,
): TraceJob[] => {
  const random = seededRandom(seed);
  const wanted = ratio * gpuCapacity(nodes);
  const result = shuffled(inOrderOfTime(jobs), () => random.next());
  const drawn = [...result];
  let asked = result.reduce((sum, job) => sum + gpuMilliOf(job), 0);
  if (asked === 0) return result;
  while (asked < wanted) {
    const job = drawn[Math.floor(random.next() * drawn.length)] as TraceJob;
    result.push({ ...job, name: `${job.name}#${result.length}` });
    asked += gpuMilliOf(job);
  }
  return result;
};

/** Fisher and Yates. */
const shuffled = (jobs: TraceJob[], draw: () => number): TraceJob[] => {
  for (let last = jobs.length - 1; last > 0; last -= 1) {
    const other = Math.floor(draw() * (last + 1));
    [jobs[last], jobs[other]] = [jobs[other] as TraceJob, jobs[last] as TraceJob];
  }
  return jobs;
};
