export { ExecuteNode, NODE_COMMANDS } from './execute-node.js';
export type { NodeCommands } from './execute-node.js';
export { NodesWriteModule } from './nodes-write.module.js';
