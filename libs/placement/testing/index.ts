export { histories } from './histories.js';
export { World } from './world.js';
