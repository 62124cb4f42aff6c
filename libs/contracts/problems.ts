/* Every refusal and fault that the API can answer with, in one place. The page in docs/reference is written from it. */

/** What is known of a problem before it happens. */
export interface ProblemKind {
  /** Short and the same each time; what differs goes into `detail`. */
  readonly title: string;
  /** HTTP status. */
  readonly status: number;
  /** True when the same request may succeed later without being changed. */
  readonly retryable: boolean;
  /** What the caller can do. */
  readonly hint: string;
}

const kind = (status: number, title: string, hint: string, retryable = false): ProblemKind => ({
  title,
  status,
  retryable,
  hint,
});

const again = true;

/** The registry. A code is for ever: programs compare it. */
export const PROBLEMS = {
  // The request itself.
  MALFORMED_JSON: kind(400, 'The body is no valid JSON', 'Send one JSON document with Content-Type: application/json.'),
  REQUEST_MALFORMED: kind(400, 'The request cannot be read', 'Look up the path and its headers in the API reference.'),
  GRAPHQL_INVALID: kind(400, 'The GraphQL operation is not valid', 'Correct it by the schema and by its limits.'),
  VALIDATION_FAILED: kind(422, 'The request has mistakes', 'Correct every place that errors[] points to.'),
  CURSOR_INVALID: kind(400, 'The cursor is not one of ours', 'Start the list again without a cursor.'),
  POSITION_INVALID: kind(400, 'The position is no number', 'Send back the position exactly as it was received.'),
  UNAUTHENTICATED: kind(401, 'Who calls is not known', 'Send a valid token as Authorization: Bearer ….'),
  FORBIDDEN: kind(403, 'Not allowed for this account', 'Ask the owner of the project or of the node.'),
  NOT_FOUND: kind(404, 'There is nothing at this address', 'Look up the path in the API reference.'),
  METHOD_NOT_ALLOWED: kind(405, 'The address does not take this method', 'Look up the path in the API reference.'),
  PAYLOAD_TOO_LARGE: kind(413, 'The request is too large', 'Send large data as an artifact and refer to it.'),
  UNSUPPORTED_MEDIA_TYPE: kind(415, 'The body has another type than expected', 'Send application/json.'),
  RATE_LIMITED: kind(429, 'Too many requests', 'Wait for the seconds in Retry-After.', again),

  // Writing once, and on what was read.
  IDEMPOTENCY_KEY_INVALID: kind(400, 'The idempotency key is malformed', 'Send 1 to 255 visible characters.'),
  IDEMPOTENCY_KEY_REUSED: kind(
    422,
    'The idempotency key belongs to another request',
    'Take a new key for a new request; repeat a request unchanged.',
  ),
  IDEMPOTENCY_IN_PROGRESS: kind(
    409,
    'The first request with this key is still running',
    'Repeat it in a moment to get the first answer.',
    again,
  ),
  REVISION_MISMATCH: kind(412, 'It has changed since it was read', 'Read it again and repeat with the new ETag.'),
  PRECONDITION_REQUIRED: kind(428, 'If-Match is required', 'Read it first and send its ETag as If-Match.'),
  STREAM_CONTENDED: kind(409, 'Too many writers at once', 'Repeat the request.', again),

  // Jobs.
  JOB_NOT_FOUND: kind(404, 'There is no such job', 'List the jobs to find its id.'),
  JOB_ALREADY_EXISTS: kind(409, 'The job exists already', 'Read the job that is there.'),
  JOB_TERMINAL: kind(409, 'The job has ended', 'Submit it again as a new job.'),
  JOB_NOT_TERMINAL: kind(409, 'The job has not ended', 'Cancel it or wait for its end.'),
  JOB_NOT_PAUSABLE: kind(409, 'The job cannot be paused now', 'Look at its state.'),
  JOB_NOT_PAUSED: kind(409, 'The job is not paused', 'Look at its state.'),
  DECISION_OUTDATED: kind(
    409,
    'The job has moved on since the decision',
    'Nothing; the scheduler decides again.',
    again,
  ),
  DECISION_NOT_FOUND: kind(404, 'The job has no such decision', 'List the decisions of the job.'),
  AUDIT_BUSY: kind(429, 'Decisions are being derived for somebody else', 'Repeat it when that has ended.', again),
  DEPENDENCY_UNKNOWN: kind(422, 'A job that this one depends on is not known', 'Submit that job first.'),
  DEPENDENCY_IMPOSSIBLE: kind(
    422,
    'The job waits for an end that can never come',
    'Depend on another job, or on another end of this one.',
  ),
  DEPENDENCY_NOT_MET: kind(409, 'The job still waits for others', 'Wait until they have ended.', again),
  DEPENDENCY_CYCLE: kind(422, 'The jobs wait for each other', 'Remove one of the dependencies.'),

  // Executions, as their nodes report them.
  EXECUTION_UNKNOWN: kind(404, 'There is no such execution', 'Read the assignments again and act on those only.'),
  WRONG_NODE: kind(403, 'The execution belongs to another node', 'Report only executions of this node.'),
  STALE_EXECUTION: kind(409, 'The execution is over', 'Stop it and forget it; the report changed nothing.'),
  CONTRACT_NOT_SMALLER: kind(
    409,
    'The contract is not smaller than the one reserved',
    'Confirm with the contract of the assignment, or with less of it.',
  ),
  EXECUTION_STATE: kind(409, 'The execution is not in a state for this', 'Read the assignments again.'),
  LOG_OFFSET_GAP: kind(
    409,
    'The chunk leaves a gap',
    'Send again from the offset in expected, or tell with gap what was left out.',
    again,
  ),
  LOG_CHUNK_TOO_LARGE: kind(413, 'The chunk of a log is too large', 'Send it in chunks of the size in largest.'),

  // Projects.
  PROJECT_UNKNOWN: kind(422, 'There is no such project', 'Have the project configured, or correct its name.'),
  PROJECT_NOT_FOUND: kind(404, 'There is no such project', 'List the projects to find its id.'),
  PROJECT_NOT_MEMBER: kind(403, 'The account is no member of the project', 'Ask the project to add the account.'),
  PROJECT_WEIGHT_INVALID: kind(422, 'The fair-share weight is not usable', 'Give a weight greater than 0.'),
  QUOTA_EXCEEDED: kind(409, 'The quota of the project is used up', 'Wait for running jobs, or ask for more.', again),

  // Nodes.
  NODE_UNKNOWN: kind(404, 'There is no such node', 'List the nodes to find its id.'),
  NODE_ALREADY_ENROLLED: kind(409, 'The node is enrolled already', 'Use the token that it was given.'),
  NODE_NAME_TAKEN: kind(409, 'The name belongs to another node', 'Choose another name, or present its token.'),
  NODE_NOT_SCHEDULABLE: kind(409, 'The node takes no work now', 'Wait until it is online and not cordoned.', again),
  POOL_UNKNOWN: kind(404, 'There is no such pool', 'List the pools to find its name.'),
  CAPACITY_EXCEEDED: kind(409, 'The node has not that much left', 'Wait for a release, or ask for less.', again),

  // Artifacts.
  ARTIFACT_NOT_FOUND: kind(404, 'There is no such artifact', 'Upload it first.'),
  ARTIFACT_DIGEST_MISMATCH: kind(422, 'The bytes do not match their digest', 'Compute the SHA-256 and send again.'),
  UPLOAD_OFFSET_GAP: kind(409, 'The upload goes on elsewhere', 'Go on from the offset in expected.', again),
  RANGE_NOT_SATISFIABLE: kind(416, 'The range lies outside of the artifact', 'Ask for bytes that are there.'),

  // Read models.
  PROJECTION_UNKNOWN: kind(404, 'There is no such projection', 'List the projections to find its name.'),
  PROJECTION_REBUILDING: kind(409, 'The projection is being rebuilt already', 'Wait for its end.', again),

  // The system.
  EVENT_TOO_LARGE: kind(413, 'What is to be recorded is too large', 'Shorten texts and lists in the request.'),
  STORE_UNAVAILABLE: kind(503, 'The event store does not answer', 'Repeat with the same idempotency key.', again),
  READ_STORE_UNAVAILABLE: kind(503, 'The read models do not answer', 'Repeat in a moment.', again),
  NOT_READY: kind(503, 'The server is not ready', 'Repeat in a moment.', again),
  INTERNAL: kind(500, 'The server failed', 'Repeat it; if it stays, report the trace id.', again),
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

/** One mistake: where (RFC 6901 JSON pointer into the request's body), a stable code, and words for people. */
export interface ProblemItem {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** The body of an `application/problem+json` answer (RFC 9457). Extra members are allowed beside these. */
export interface Problem {
  readonly type: string;
  readonly code: ProblemCode;
  readonly title: string;
  readonly detail: string;
  readonly status: number;
  readonly errors: readonly ProblemItem[];
  readonly retryable: boolean;
  readonly hint: string;
  readonly [extra: string]: unknown;
}

/** What may go with a problem: the mistakes, the trace, and values for programs (`expected`, `actual`, …). */
export interface ProblemExtras {
  readonly errors?: readonly ProblemItem[];
  readonly traceId?: string;
  readonly [extra: string]: unknown;
}

/** Where the reference explains a code. */
export const problemDocs = (code: ProblemCode): string => `docs/reference/problems.md#${code.toLowerCase()}`;

/** The `type` of a problem: a reference relative to the server, to its page of problems. */
export const problemType = (code: ProblemCode): string => `/docs/problems#${code.toLowerCase()}`;

/**
 * The answer's body for a code of the registry. Extras never replace the standard members. A code that is not registered
 * is our own fault, so it becomes INTERNAL and `detail` names it.
 */
export const toProblem = (code: string, detail: string, extras: ProblemExtras = {}): Problem => {
  if (!isProblemCode(code)) return toProblem('INTERNAL', `${detail} (unregistered code ${code})`, extras);
  const { errors = [], ...rest } = extras;
  const { title, status, retryable, hint } = PROBLEMS[code];
  return { ...rest, type: problemType(code), code, title, detail, status, errors, retryable, hint };
};
