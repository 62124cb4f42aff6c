export { World } from './world.js';
