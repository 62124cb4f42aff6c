export { DigestMismatch, LocalArtifactStore, UploadGap } from './artifact-store.js';
export { LogChunkTooLarge, LogOffsetGap, LogStore } from './log-store.js';
export type { LogLimits, SentChunk } from './log-store.js';
export type { LogBytes, LogRange } from './log-pieces.js';
