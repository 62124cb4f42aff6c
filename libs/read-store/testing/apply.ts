import { openProjection } from '../projection/checkpoints.js';
import { inTransaction } from '../projection/database.js';
import { concerns } from '../projection/projection.js';
import { ProjectionWriter } from '../projection/writer.js';
import type { Pool } from 'pg';
import type { RecordedEvent } from '#event-store';
import type { Projection } from '../projection/projection.js';

/** Brings the projections' tables to the end of a log, without a runner. */
export const applyAll = async (
  pool: Pool,
  projections: readonly Projection[],
  log: readonly RecordedEvent[],
): Promise<void> => {
  for (const projection of projections) {
    const checkpoint = await inTransaction(pool, (sql) => openProjection(sql, projection));
    const writer = new ProjectionWriter(pool, projection, checkpoint, { capacity: 1000, strict: true });
    const events = log.filter(({ stream }) => concerns(projection, stream));
    await writer.commit(events, log.at(-1)?.position ?? checkpoint.position);
  }
};
