/** A granted part of one device: `share` in 0…1 (steps of 0.001), `memory` in bytes. */
export interface GrantedGpu {
  readonly id: string;
  readonly share: number;
  readonly memory: number;
}

/**
 * What an execution may use: exactly this much is held in the node's ledger while the execution lives. Units as in the
 * inventory. `batchSize` is the number of items the task may take at once, when the job works in batches.
 */
export interface Contract {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpus: readonly GrantedGpu[];
  readonly batchSize?: number;
}
