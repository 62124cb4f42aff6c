import type { Millis } from '#kernel';
import type { FailureClass } from '#jobs';
import { isEndless } from '../job-types.js';
import { nodeChanged } from './columns.js';
import type { ClusterJob, ClusterNode, ClusterState, PartitionState } from './state.js';
import { emptyRecord, FAILURE_WEIGHTS, noOutage, recordFailure, takeBack } from './track-record.js';
import type { Blame, NodeCharge, TrackRecord } from './track-record.js';

/*
 * Whose fault a failure is. Failures of several jobs on one node count against the node; a class that one part of a job brings
 * about on two nodes counts against the job, and neither node pays for it.
 */

/** What a try that ran can bring about by itself as well as its node can. A reservation that no try came of tells of its node alone. */
const TWO_SIDED: ReadonlySet<FailureClass> = new Set(['infrastructure', 'node-lost', 'timeout']);

/** The try as it failed: of the part of this number of the job, on this node. */
export interface FailedTry {
  readonly job: ClusterJob;
  readonly partition: number;
  readonly node: ClusterNode;
  readonly class: FailureClass;
  readonly at: Millis;
}

/** Counts a failure against the node, unless it is the job's own; then what it counted before is taken back. */
export const blame = (cluster: ClusterState, failed: FailedTry): void => {
  const { job, node, class: kind } = failed;
  if (FAILURE_WEIGHTS[kind] === 0 || isPlannedEnd(failed)) return;
  const partition = job.partitions[failed.partition];
  const known = partition?.blame.find((one) => one.class === kind);
  if (known?.own) return;
  if (partition && known && known.nodeId !== node.id) return ownFault(cluster, job, partition, known);
  const counted = kind === 'node-lost' && isSameOutage(cluster, failed) ? [] : charge(failed);
  if (!partition || !TWO_SIDED.has(kind)) return;
  note(partition, { class: kind, nodeId: node.id, charges: [...(known?.charges ?? []), ...counted], own: false });
};

/** `timeouts.run` of an endless job asks for that end. */
const isPlannedEnd = ({ job, class: kind }: FailedTry): boolean => kind === 'timeout' && isEndless(job.spec.type);

/** What a part of a job did well on a node clears it of what it failed before. */
export const clear = (partition: PartitionState): void => {
  partition.blame = [];
};

const note = (partition: PartitionState, noted: Blame): void => {
  partition.blame = [...partition.blame.filter((one) => one.class !== noted.class), noted];
};

/** The job's application has a record of its own on each node. */
export const applicationRecord = (node: ClusterNode, { spec }: ClusterJob): TrackRecord | undefined => {
  const name = spec.application?.name;
  if (name === undefined) return undefined;
  const record = node.applicationRecords.get(name) ?? emptyRecord();
  node.applicationRecords.set(name, record);
  return record;
};

const charge = ({ job, node, class: kind, at }: FailedTry): NodeCharge[] => {
  const weight = FAILURE_WEIGHTS[kind];
  const record = applicationRecord(node, job);
  const charged = {
    node: recordFailure(node.record, weight, job.id, at),
    application: record && recordFailure(record, weight, job.id, at),
  };
  return charged.node || charged.application ? [charged] : [];
};

const ownFault = (cluster: ClusterState, job: ClusterJob, partition: PartitionState, known: Blame): void => {
  note(partition, { ...known, charges: [], own: true });
  const first = cluster.nodes.get(known.nodeId);
  if (!first) return;
  const application = applicationRecord(first, job);
  for (const made of known.charges) {
    if (made.node) takeBack(first.record, made.node, job.id);
    if (made.application && application) takeBack(application, made.application, job.id);
  }
  if (known.class === 'node-lost' && first.outage.jobId === job.id) first.outage = noOutage();
  nodeChanged(cluster, first);
};

/**
 * An outage takes all that runs on the node but counts once. It is charged for the first job that it took; when it takes
 * another one too, no later failure of the first can take that back.
 */
const isSameOutage = (cluster: ClusterState, { job, partition, node }: FailedTry): boolean => {
  const { counted, jobId, partition: first } = node.outage;
  if (!counted) {
    node.outage = { counted: true, jobId: job.id, partition };
    return false;
  }
  const charged = jobId === job.id ? undefined : cluster.jobs.get(jobId)?.partitions[first];
  const noted = charged?.blame.find((one) => one.class === 'node-lost' && one.nodeId === node.id);
  if (charged && noted) note(charged, { ...noted, charges: [] });
  return true;
};
