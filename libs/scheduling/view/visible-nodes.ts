import { isMember } from '#projects';
import type { ClusterNode, ClusterState } from '#placement';

/** Who reads, as a token says. */
export interface Reader {
  readonly role: 'researcher' | 'node' | 'operator' | 'auditor';
  readonly account: string;
  readonly nodeId?: string;
  /** What the view is limited to. */
  readonly institution?: string;
}

/** Whether the reader sees every node by name, whatever happens to be enrolled. */
export const seesEveryNode = ({ role, institution }: Reader): boolean =>
  (role === 'operator' || role === 'auditor') && institution === undefined;

/**
 * Which nodes a reader sees by name. Operators and auditors see all, or those of the institution that their token is limited
 * to; everybody sees the nodes that he owns, that belong to the institution of one of his projects, and that hold an
 * execution of his or of his projects' now; a node sees itself.
 */
export const nodeSight = (cluster: ClusterState, reader: Reader): ((nodeId: string) => boolean) => {
  if (seesEveryNode(reader)) return () => true;
  const projects = reader.role === 'researcher' ? projectsOf(cluster, reader.account) : [];
  const institutions = new Set(projects.map(({ institution }) => institution));
  if (reader.institution !== undefined) institutions.add(reader.institution);
  const isOwn = ownJobs(cluster, reader.account, projects);
  const own = ({ id, owner, institution }: ClusterNode): boolean =>
    owner === reader.account || id === reader.nodeId || institutions.has(institution);
  const runsOwn = (nodeId: string): boolean =>
    [...(cluster.live.get(nodeId)?.values() ?? [])].some(({ jobId }) => isOwn(jobId));
  return (nodeId) => {
    const node = cluster.nodes.get(nodeId);
    return node !== undefined && (own(node) || runsOwn(nodeId));
  };
};

/** `project`: whose the job is when it has left the cluster's state; without it, such a job is not seen. */
type JobSight = (jobId: string, project?: string) => boolean;

/** Which jobs a reader sees, as the jobs' own addresses decide: a researcher his own and his projects', everybody else all. */
export const jobSight = (cluster: ClusterState, { role, account }: Reader): JobSight =>
  role === 'researcher' ? ownJobs(cluster, account, projectsOf(cluster, account)) : () => true;

const ownJobs = (cluster: ClusterState, account: string, projects: readonly { readonly id: string }[]): JobSight => {
  const names = new Set(projects.map(({ id }) => id));
  return (jobId, project = '') => {
    const job = cluster.jobs.get(jobId);
    return job?.account === account || names.has(job?.project ?? project);
  };
};

const projectsOf = ({ projects }: ClusterState, account: string) =>
  [...projects.values()].filter((project) => isMember(project, account));
