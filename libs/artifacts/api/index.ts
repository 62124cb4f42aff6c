export { ArtifactsController } from './artifacts.controller.js';
