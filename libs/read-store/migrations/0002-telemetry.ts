import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What is not an event: who was seen when, the last progress, and answers kept for repeated requests. */
export class Telemetry0002 implements MigrationInterface {
  readonly name = 'Telemetry0000000000002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE node_presence (
        node_id text PRIMARY KEY,
        last_seen_at timestamptz NOT NULL,
        payload jsonb NOT NULL
      ) WITH (fillfactor = 50)`);
    await runner.query(`
      CREATE TABLE execution_progress (
        execution_id text PRIMARY KEY,
        fraction double precision NOT NULL,
        message text NOT NULL,
        diagnostics jsonb NOT NULL,
        at timestamptz NOT NULL
      ) WITH (fillfactor = 50)`);
    await runner.query(`
      CREATE TABLE idempotency_keys (
        account text NOT NULL,
        key text NOT NULL,
        fingerprint text NOT NULL,
        status integer,
        answer json,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (account, key)
      )`);
    await runner.query('CREATE INDEX ON idempotency_keys (created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_keys, execution_progress, node_presence');
  }
}
