/** What a worker may fail at. */
export type WorkerFault = 'dequeue' | 'process' | 'ack' | 'nack';
