export {
  aConfirmation,
  aConsumption,
  aContract,
  aDecision,
  aFailure,
  aGpu,
  aJobSpec,
  anArtifact,
  anEnrollment,
  anInventory,
  aPlacement,
  aPlan,
  aPolicy,
  aProject,
  aReport,
  aReservation,
  aSubmission,
  aSuccess,
  aTargetChange,
} from './builders.js';
export { deciderSpec } from './decider-spec.js';
export type { DeciderSpec, Given, When } from './decider-spec.js';
export { EXECUTION_PATHS, JOB_PATHS } from './job-paths.js';
export { EPOCH, second } from './time.js';
