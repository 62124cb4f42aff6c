import { accept, reject } from '#kernel';
import type { Decider, Decision, Instant } from '#kernel';
import type { ProjectEvent, Quota } from './events.js';

export interface ConfigureProject {
  readonly type: 'ConfigureProject';
  readonly projectId: string;
  readonly institution: string;
  readonly members: readonly string[];
  readonly quota: Quota;
  readonly weight: number;
  readonly at: Instant;
}

export type ProjectCommand = ConfigureProject;

export interface ProjectState {
  readonly exists: boolean;
  readonly projectId: string;
  readonly institution: string;
  readonly members: readonly string[];
  readonly quota: Quota;
  readonly weight: number;
}

const absent = (): ProjectState => ({
  exists: false,
  projectId: '',
  institution: '',
  members: [],
  quota: {},
  weight: 1,
});

/** The same configuration again changes nothing; members are a set, their order is no difference. */
const decide = ({ type: _type, ...data }: ProjectCommand, project: ProjectState): Decision<ProjectEvent> => {
  if (!(data.weight > 0 && Number.isFinite(data.weight)))
    return reject('PROJECT_WEIGHT_INVALID', 'a weight is a number greater than 0');
  const { at: _at, ...wanted } = data;
  return project.exists && key(wanted) === key(project) ? accept() : accept({ type: 'ProjectConfigured', data });
};

const key = ({ projectId, institution, members, quota, weight }: Omit<ProjectState, 'exists'>): string =>
  JSON.stringify([projectId, institution, [...new Set(members)].sort(), Object.entries(quota).sort(), weight]);

const evolve = (_project: ProjectState, event: ProjectEvent): ProjectState => {
  const { at: _at, ...configured } = event.data;
  return { exists: true, ...configured };
};

export const projectDecider: Decider<ProjectCommand, ProjectEvent, ProjectState> = {
  initialState: absent,
  decide,
  evolve,
};

/** Whether an account may submit for the project. */
export const isMember = (project: Pick<ProjectState, 'members'>, account: string): boolean =>
  project.members.includes('*') || project.members.includes(account);
