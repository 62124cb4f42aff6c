import { wavesOf } from '#kernel';
import type { Rejection } from '#kernel';
import { estimateMistakes } from '../budget/index.js';
import type { TaskDependency, TaskRequest, TaskState } from './task.js';

/** What a submission is checked against. */
export interface Surroundings {
  readonly stateOf: (id: string) => TaskState | undefined;
  readonly hasLane: (name: string) => boolean;
}

/** Everything wrong with tasks that are submitted together; they may depend on one another in any order. */
export const submissionMistakes = (requests: readonly TaskRequest[], around: Surroundings): Rejection[] => {
  const ids = new Set(requests.map(({ id }) => id));
  const seen = new Set<string>();
  const mistakes = requests.flatMap((request) => {
    const again = seen.has(request.id) || around.stateOf(request.id) !== undefined;
    seen.add(request.id);
    return [
      ...(again ? [mistake('TASK_DUPLICATE', `${request.id}: a task of this id is there already`)] : []),
      ...ownMistakes(request, around),
      ...(request.dependsOn ?? [])
        .filter(({ task }) => !ids.has(task) && around.stateOf(task) === undefined)
        .map(({ task }) => mistake('DEPENDENCY_UNKNOWN', `${request.id}: depends on ${task}, which is not there`)),
    ];
  });
  const cycle = cycleIn(requests);
  if (cycle) mistakes.push(mistake('DEPENDENCY_CYCLE', `tasks wait for one another: ${cycle.join(' → ')}`));
  return mistakes;
};

const mistake = (code: string, message: string): Rejection => ({ code, message });

const ownMistakes = ({ id, estimate, priority = 0, lane }: TaskRequest, around: Surroundings): Rejection[] => [
  ...estimateMistakes(estimate).map((text) => mistake('ESTIMATE_INVALID', `${id}: ${text}`)),
  ...(Number.isFinite(priority) ? [] : [mistake('PRIORITY_INVALID', `${id}: priority ${priority} is not a number`)]),
  ...(lane === undefined || around.hasLane(lane) ? [] : [mistake('LANE_UNKNOWN', `${id}: there is no lane ${lane}`)]),
];

/** The ids along one cycle, the first again at the end. A task that is there already can depend on none of these. */
const cycleIn = (requests: readonly TaskRequest[]): readonly string[] | undefined =>
  wavesOf(new Map(requests.map(({ id, dependsOn = [] }) => [id, dependsOn.map(({ task }) => task)]))).cycle;

/** Whether an ended task is what a dependency waits for. */
export const isMet = ({ when }: TaskDependency, ended: TaskState): boolean => when === 'terminal' || when === ended;
