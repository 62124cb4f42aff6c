import { ProblemException } from '#platform/http';
import type { Caller } from '#platform/http';
import { seesEveryNode } from '#scheduling';

/** The whole log names every node, so it is for those whose view is not limited to an institution. */
export const requireWholeView = (caller: Caller): void => {
  if (seesEveryNode(caller)) return;
  throw new ProblemException('FORBIDDEN', 'the token is limited to an institution, and this is about every node');
};
