/* The domain's value types under one roof, for those who may import only the contracts: agent, CLI and page. */
export type { Artifact, Consumption, Decision, FailureClass, JobEvent, JobSpec, JobStateName } from '#jobs';
export type { Contract, Inventory, Policy } from '#nodes';
