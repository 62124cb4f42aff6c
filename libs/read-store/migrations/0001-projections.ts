import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Checkpoints of the projections, and the progress of rebuilds under way. */
export class Projections0001 implements MigrationInterface {
  readonly name = 'Projections0000000000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE projection_checkpoints (
        name text PRIMARY KEY,
        version integer NOT NULL,
        generation integer NOT NULL,
        position bigint NOT NULL,
        events bigint NOT NULL DEFAULT 0,
        last_event_at timestamptz,
        state text NOT NULL DEFAULT 'live',
        error text,
        updated_at timestamptz NOT NULL DEFAULT now()
      ) WITH (fillfactor = 50)`);
    await runner.query(`
      CREATE TABLE projection_rebuilds (
        name text PRIMARY KEY,
        version integer NOT NULL,
        position bigint NOT NULL DEFAULT -1,
        target bigint NOT NULL,
        events bigint NOT NULL DEFAULT 0,
        started_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE projection_rebuilds, projection_checkpoints');
  }
}
