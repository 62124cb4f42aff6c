export { DigestMismatch, LocalArtifactStore, UploadGap } from './artifact-store.js';
export { LogOffsetGap, LogStore } from './log-store.js';
