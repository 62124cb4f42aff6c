import type { JobEvent, ReasonSide } from '#jobs';
import type { NodeEvent } from '#nodes';
import type { ProjectEvent } from '#projects';
import type { Unit } from '../units.js';

type EventType = JobEvent['type'] | NodeEvent['type'] | ProjectEvent['type'];

/** A reason why a node may not or cannot take a job. Codes are stable: they are stored in decisions. */
export interface ReasonDefinition {
  /** Who is not content. */
  readonly side: ReasonSide;
  /** What is wrong, to follow "N nodes:" or "the node". */
  readonly description: string;
  /** How it stops being so, for people. */
  readonly lifted: string;
  /** The same where it is "never"; absent where that makes no difference. */
  readonly liftedForEver: string | undefined;
  /** Events that may lift it. */
  readonly wakesOn: readonly EventType[];
  /** Of the values compared. */
  readonly unit: Unit;
  /**
   * Which of two offers comes nearer; text has no better or worse and takes the first in alphabetical order. What is `own`
   * tells of its node alone (why its owner cordoned it, say): it is neither compared nor told with the counts.
   */
  readonly better: 'higher' | 'lower' | 'own';
}

const define = (
  side: ReasonSide,
  wakesOn: readonly EventType[],
  unit: Unit,
  description: string,
  lifted: string,
  better: ReasonDefinition['better'] = 'higher',
  liftedForEver?: string,
): ReasonDefinition => ({ side, description, lifted, liftedForEver, wakesOn, unit, better });

/** Whose turn it is in a pool may change with any of these. */
export const TURNS = [
  'PlacementDecided',
  'JobPriorityChanged',
  'JobPaused',
  'JobCancelRequested',
  'JobCancelled',
  'JobFailed',
  'NodePoolChanged',
] as const;

/** Shortages: what is freed helps, unless the whole node would be too small. */
const room = (unit: Unit, description: string, lifted: string): ReasonDefinition =>
  define('job', ROOM, unit, description, lifted, 'higher', 'a larger node comes');

const PROJECT = ['ProjectConfigured'] as const;
const QUOTA = ['ProjectConfigured', 'CapacityReleased', 'CapacityReduced'] as const;
const POLICY = ['NodePolicyChanged'] as const;
const INVENTORY = ['NodeInventoryChanged'] as const;
const ROOM = ['CapacityReleased', 'CapacityReduced', 'NodeInventoryChanged'] as const;

/**
 * Every reason there is, in the order of the stages: permission, executor state, software, architecture and labels, data,
 * capacity. The first that a node fails is its primary one. "Never" is not a property of a code but of a comparison: it
 * means that only a change of the node itself or of the job can lift the reason.
 *
 * Sides: `job` for what the job demands of the node, `owner` for what the node's owner demands of the job, `system` for
 * the rest: whether the account may use the project at all, quotas, presence, exclusions.
 */
export const REASONS = {
  'permission.project': define('system', PROJECT, 'text', 'the project does not exist', 'the project is configured'),
  'permission.account': define(
    'system',
    PROJECT,
    'text',
    'the account is not a member of the project',
    'the account becomes a member of the project',
  ),
  'quota.cpu': define(
    'system',
    QUOTA,
    'milli',
    "the project's CPU quota is used up",
    'a job of the project ends or its quota grows',
  ),
  'quota.memory': define(
    'system',
    QUOTA,
    'bytes',
    "the project's memory quota is used up",
    'a job of the project ends or its quota grows',
  ),
  'quota.gpus': define(
    'system',
    QUOTA,
    'milli',
    "the project's GPU quota is used up",
    'a job of the project ends or its quota grows',
  ),
  'quota.jobs': define(
    'system',
    QUOTA,
    'count',
    'the project has as many jobs running as its quota allows',
    'a job of the project ends or its quota grows',
  ),
  'policy.institution': define(
    'owner',
    [...POLICY, ...PROJECT],
    'text',
    "the owner does not accept the job's institution",
    'the owner changes the policy',
  ),
  'policy.project': define(
    'owner',
    POLICY,
    'text',
    'the owner does not accept the project',
    'the owner changes the policy',
  ),
  'policy.account': define(
    'owner',
    POLICY,
    'text',
    'the owner does not accept the account',
    'the owner changes the policy',
  ),
  'policy.application': define(
    'owner',
    POLICY,
    'text',
    'the owner does not accept the application',
    'the owner changes the policy',
  ),
  'policy.max-duration': define(
    'owner',
    POLICY,
    'seconds',
    "the job's estimate is longer than the owner accepts, or unknown",
    'the owner changes the policy',
  ),
  'policy.window': define(
    'owner',
    POLICY,
    'seconds',
    "outside the owner's time windows",
    'a window opens',
    'higher',
    'the owner changes the windows',
  ),
  'policy.window-remaining': define(
    'owner',
    POLICY,
    'seconds',
    'the open time window ends before the job would',
    'the next window opens',
    'higher',
    'the owner changes the windows',
  ),
  'policy.maintenance': define(
    'owner',
    POLICY,
    'instant',
    'the owner has it under maintenance',
    'the maintenance is over',
    'lower',
  ),
  'policy.maintenance-ahead': define(
    'owner',
    POLICY,
    'instant',
    'a maintenance begins before the job would be over',
    'the maintenance is over',
  ),
  'policy.max-share': define(
    'owner',
    [...POLICY, ...ROOM],
    'milli',
    "the project's share of the node is used up",
    'a job of the project on the node ends',
    'higher',
    'the owner changes the share, or a larger node comes',
  ),
  'budget.price': define(
    'job',
    POLICY,
    'money',
    "the owner's price is over the job's budget",
    'the owner changes the price',
    'lower',
  ),
  'budget.unknown': define(
    'job',
    POLICY,
    'text',
    'the node has a price, and without an estimate the cost is unknown',
    'the owner changes the price',
  ),
  'node.offline': define('system', ['NodeWentOnline'], 'text', 'offline', 'the node comes back'),
  'node.draining': define('system', ['NodeUncordoned'], 'text', 'draining', 'the drain is ended', 'own'),
  'node.cordoned': define('system', ['NodeUncordoned'], 'text', 'cordoned', 'the cordon is ended', 'own'),
  'node.excluded': define('system', [], 'text', 'did not answer this job lately', 'the exclusion is over'),
  'node.set-aside': define(
    'system',
    ['ReservationConfirmed', 'CapacityReleased'],
    'count',
    'did not take several jobs in a row',
    'its pause is over and no other job tries it, or it confirms one',
    'own',
    'lower',
  ),
  'node.probation': define(
    'system',
    ['CapacityReleased', 'ExecutionStarted', 'ExecutionSucceeded'],
    'text',
    'everything failed there lately, and its one trial job still runs',
    'the trial job ends, or has begun if it is one that never ends',
  ),
  'node.unconfirmed': define(
    'system',
    ['ReservationConfirmed', 'CapacityReleased'],
    'count',
    'has as many reservations to confirm as it may have at once',
    'it confirms one, or one of them ends',
    'own',
  ),
  /** Never in a decision, which considers the part's own node alone: only where somebody asks for another. */
  'node.not-its-own': define(
    'system',
    [],
    'text',
    'this part of the job belongs to another node',
    'each node has a part of its own',
  ),
  'software.container': define(
    'job',
    INVENTORY,
    'text',
    'no container engine',
    'an engine is usable there and its owner lends it',
  ),
  'software.application': define(
    'job',
    INVENTORY,
    'text',
    'the application is not installed',
    'the application is installed',
  ),
  'software.version': define(
    'job',
    INVENTORY,
    'version',
    'no installed version of the application matches',
    'a matching version is installed',
  ),
  'software.package': define(
    'job',
    INVENTORY,
    'version',
    'a package is missing or its version does not match',
    'a matching package is installed',
  ),
  architecture: define('job', INVENTORY, 'text', 'another architecture', 'the job accepts the architecture'),
  constraint: define(
    'job',
    INVENTORY,
    'text',
    "a constraint on the node's attributes does not hold",
    "the node's labels change",
  ),
  'data.unreachable': define('job', INVENTORY, 'text', 'an input cannot be fetched there', "the node's labels change"),
  'capacity.cpu': room('milli', 'not enough CPU', 'CPU is freed'),
  'capacity.memory': room('bytes', 'not enough memory', 'memory is freed'),
  'capacity.disk': room('bytes', 'not enough disk', 'disk is freed'),
  'capacity.io-slots': room('count', 'not enough I/O slots', 'I/O slots are freed'),
  'capacity.gpu-count': define('job', ROOM, 'count', 'not enough GPUs', 'a node with more GPUs comes'),
  'capacity.gpu-model': define(
    'job',
    INVENTORY,
    'text',
    'not enough GPUs of the models asked for',
    'a node with such GPUs comes',
  ),
  'capacity.gpu-memory': define(
    'job',
    INVENTORY,
    'bytes',
    'not enough GPUs with that much memory',
    'a node with larger GPUs comes',
  ),
  'capacity.gpu-free': define('job', ROOM, 'count', 'not enough free GPUs or shares of them', 'a GPU is freed'),
  'pool.behind': define(
    'system',
    TURNS,
    'text',
    'another job is first in the line of its pool',
    'that job is placed or leaves the line',
  ),
  'pool.would-delay': define(
    'system',
    [...TURNS, ...ROOM],
    'text',
    'kept for the job that is first in the line of its pool, which this one might delay',
    'that job is placed or leaves the line, or there is room for both',
  ),
} as const satisfies Readonly<Record<string, ReasonDefinition>>;

export type ReasonCode = keyof typeof REASONS;

/** Also for codes of older decisions that are no longer made. */
export const reasonDefinition = (code: string): ReasonDefinition | undefined =>
  Object.hasOwn(REASONS, code) ? REASONS[code as ReasonCode] : undefined;

/** What can lift a "never": nothing that merely frees a node. */
const LASTING: ReadonlySet<string> = new Set(['NodeInventoryChanged', 'NodePolicyChanged', 'ProjectConfigured']);

/** Events after which the reason may hold no more. */
export const eventsThatLift = (code: string, never: boolean): readonly string[] =>
  (reasonDefinition(code)?.wakesOn ?? []).filter((type) => !never || LASTING.has(type));
