export { applyEvent } from './cluster/apply.js';
export type { ClusterEvent } from './cluster/apply.js';
export { projectShare, SHARE_HALF_LIFE } from './cluster/fair-share.js';
export { setAsideUntil } from './cluster/refusals.js';
export { assume, unassume } from './cluster/ledger.js';
export type { AssumedReservation } from './cluster/ledger.js';
export { appliedRevision, desiredOf, freeCapacity, liveExecutions, placeablePartitions } from './cluster/queries.js';
export type { FreeCapacity, FreeDevice } from './cluster/queries.js';
export { addClusterLine, clusterLines } from './cluster/snapshot.js';
export type { ClusterLine } from './cluster/snapshot.js';
export { emptyCluster } from './cluster/state.js';
export { placeInLine } from './cluster/pool-line.js';
export type { ClusterPool, Front, Turn } from './cluster/pool-line.js';
export type {
  ClusterJob,
  ClusterNode,
  ClusterProject,
  ClusterState,
  DecisionSummary,
  EndedJob,
  Held,
  LiveExecution,
  LiveState,
  PartitionState,
  ProjectUsage,
} from './cluster/state.js';
export { FAILURE_WEIGHTS } from './cluster/track-record.js';
export { behindKey, demandKey } from './board/shape-key.js';
export { chooseContract } from './contract.js';
export { mayChangeAnswer } from './could-take.js';
export type { StatedReasons } from './could-take.js';
export { smallestChange } from './counterfactual/smallest-change.js';
export type { OthersChange, RequirementChange, SmallestChange } from './counterfactual/smallest-change.js';
export { changeInWords } from './counterfactual/words.js';
export { ALGORITHM, decide, RANKING_KEPT, WAKING_EVENTS } from './decide.js';
export type { DecisionContext, Placement } from './decide.js';
export { demandOf } from './demand.js';
export type { Demand } from './demand.js';
export { reasonsDigest } from './digest.js';
export { explainDecision, inputsInWords } from './explain-decision.js';
export { bestNodes, explainNode, neverReasons, nodeAnswers, preferencesMet } from './explain-node.js';
export type { EligibleNode, NodeAnswer, NodeExplanation, NodeReason } from './explain-node.js';
export { sameHolds } from './line.js';
export { MOST_UNCONFIRMED } from './filters/executor-state.js';
export { eventsThatLift, reasonDefinition, REASONS, TURNS } from './filters/reasons.js';
export type { ReasonCode, ReasonDefinition } from './filters/reasons.js';
export { nextRequest, plannedRequest, requestOf, waitingPartitions } from './request.js';
export type { PlacementRequest } from './request.js';
export { foldArchitecture } from './requirements/architecture-name.js';
export { parseConstraint, satisfies } from './requirements/constraint.js';
export type { Constraint, ParsedConstraint } from './requirements/constraint.js';
export { inRange, parseVersionRange } from './requirements/version-range.js';
export type { ParsedRange, SyntaxProblem, VersionRange } from './requirements/version-range.js';
export { compareVersions, parseVersion } from './requirements/version.js';
export type { Version } from './requirements/version.js';
export { changesTarget, MATCHING_EVENTS, matchingNodes, stillMatches, targetChange, wholeJob } from './targets.js';
export type { Matching, TargetChange } from './targets.js';
export { PROFILE_NAMES, profileOf, PROFILES, WEIGHTS_VERSION } from './scores/profiles.js';
export type { ChosenProfile, Profile, ProfileName, Strategy } from './scores/profiles.js';
export { isPresentAlgorithm, isPresentVersion } from './versions.js';
export { weightedScore } from './scores/score.js';
export { formatBytes, formatSeconds } from './units.js';
export { isTimeZone } from './windows/zone.js';
export { maintenanceAt, maintenanceState } from './windows/maintenance.js';
export { windowState } from './windows/windows.js';
export type { WindowState } from './windows/windows.js';
