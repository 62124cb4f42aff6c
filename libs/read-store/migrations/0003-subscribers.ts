import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How far each subscriber of the log has been told. */
export class Subscribers0003 implements MigrationInterface {
  readonly name = 'Subscribers0000000000003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE subscriber_positions (
        name text PRIMARY KEY,
        position bigint NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now()
      ) WITH (fillfactor = 50)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE subscriber_positions');
  }
}
