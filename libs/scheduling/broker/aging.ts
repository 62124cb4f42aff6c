import type { Millis } from '#kernel';

/** What orders two that wait for the same: the more urgent first, then the older one, then by id. */
export interface Place {
  readonly id: string;
  /** 0…100. */
  readonly priority: number;
  readonly createdAt: Millis;
}

/** How long one waits for one more point of priority; 0 for never, so that a stream of urgent work starves the rest. */
export type Aging = Millis;

/** The priority with the points for waiting: more than 100 for one that waits long enough. */
export const effectivePriority = ({ priority, createdAt }: Place, aging: Aging, at: Millis): number =>
  aging > 0 ? priority + Math.max(0, Math.floor((at - createdAt) / aging)) : priority;

export const isOlder = (left: Place, right: Place): boolean =>
  left.createdAt === right.createdAt ? left.id < right.id : left.createdAt < right.createdAt;
