import { FACTORS } from '#jobs';
import type { RankedNode } from '#jobs';
import { aConsumption, aContract, aDecision, aJobSpec, anInventory, second } from '#testing';

/* A long log, as finished and waiting jobs leave one behind: nine events and about five kilobytes for each that ran. */

export interface LoggedEvent {
  readonly type: string;
  readonly data: object;
}

export const NODES = Array.from({ length: 20 }, (_, index) => `bench-${String(index + 1)}`);
const AT = second(0);

export const nodeStart = (nodeId: string): LoggedEvent[] => [
  {
    type: 'NodeEnrolled',
    data: {
      nodeId,
      name: nodeId,
      owner: 'olga',
      institution: 'usp',
      inventory: anInventory({ labels: { region: 'br' } }),
      policy: {},
      at: AT,
    },
  },
  { type: 'NodeWentOnline', data: { at: AT } },
];

export const submitted = (jobId: string): LoggedEvent => ({
  type: 'JobSubmitted',
  data: {
    jobId,
    spec: aJobSpec({ name: jobId, outputs: ['result.json'] }),
    account: 'ada',
    institution: 'usp',
    evaluationId: jobId,
    fingerprint: jobId,
    at: AT,
  },
});

const factor = { raw: 0.123456789, value: 0.123456789, weight: 20 };
const ranking: RankedNode[] = NODES.slice(0, 10).map((nodeId) => ({
  nodeId,
  score: 0.123456789,
  factors: Object.fromEntries(FACTORS.map((name) => [name, factor])) as RankedNode['factors'],
}));

/** The life of a job after its submission, and what its node's ledger says of it. */
export const ran = (jobId: string, nodeId: string): { readonly job: LoggedEvent[]; readonly node: LoggedEvent[] } => {
  const executionId = `${jobId}.0123456789ab`;
  const contract = aContract();
  const reservation = { executionId, partition: 0, attempt: 1, nodeId, fencingToken: 1, contract };
  const job = [
    { type: 'PlacementDecided', data: aDecision({ ranking, winner: nodeId }) },
    { type: 'ExecutionReserved', data: { ...reservation, confirmBy: second(15), at: AT } },
    { type: 'ReservationConfirmed', data: { executionId, at: AT } },
    { type: 'ExecutionStarted', data: { executionId, at: AT } },
    {
      type: 'ExecutionSucceeded',
      data: { executionId, exitCode: 0, artifacts: [], consumption: aConsumption(), at: AT },
    },
    { type: 'JobCompleted', data: { at: AT } },
  ];
  const claim = { executionId, jobId, project: 'demo', contract, expiresAt: second(15), at: AT };
  const node = [
    { type: 'CapacityReserved', data: claim },
    { type: 'CapacityReleased', data: { executionId, cause: 'succeeded', at: AT } },
  ];
  return { job, node };
};
