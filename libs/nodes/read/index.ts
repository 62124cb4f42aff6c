import { nodeCapacityEntity, nodeClaimEntity, nodeEntity, nodeTimelineEntity } from './tables.js';

export type { CapacityView } from './capacity.js';
export { NodeQueries } from './node-queries.js';
export type { NodeDetails, NodeStateName, NodeView } from './node-queries.js';
export { nodesProjection } from './nodes.projection.js';
export type { NodeCapacityRow, NodeClaimRow, NodeRow, NodeTimelineRow } from './tables.js';

/** What a data source must know to answer `NodeQueries`. */
export const nodeEntities = [nodeEntity, nodeCapacityEntity, nodeClaimEntity, nodeTimelineEntity];
