export { AuthGuard, bearerToken } from './auth.guard.js';
export { CurrentCaller, Public, requestOf, Roles } from './caller.js';
export type { AuthenticatedRequest, Caller } from './caller.js';
export { Json } from './json.scalar.js';
export { MinPositionInterceptor } from './min-position.interceptor.js';
export { ProblemException } from './problem-exception.js';
export { ProblemFilter, problemOf } from './problem.filter.js';
export { invalid, parsed } from './parsed.js';
export { answered, doneOrThrow, ifMatch } from './write-answer.js';
