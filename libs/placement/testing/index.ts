export { World } from './world.js';
export { build, nodes, spec, time } from './clusters.js';
export { histories } from './histories.js';
