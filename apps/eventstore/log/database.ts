import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The file cannot be used. The message names it and says why in one line; meant for the operator. */
class LogFileError extends Error {
  override readonly name = 'LogFileError';
}

/** "ESCA" in the header of the file, so that another program's SQLite file is not taken for a log. */
const APPLICATION_ID = 0x45534341;
const SCHEMA_VERSION = 1;
/** Up to this size the whole file is checked at start; it takes a fraction of a second. */
const CHECKED_AT_START = 64 * 1024 * 1024;

const SCHEMA = `
  CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES streams (id),
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL,
    json INTEGER NOT NULL,
    id BLOB NOT NULL,
    type TEXT NOT NULL,
    data BLOB NOT NULL,
    metadata BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX events_by_stream ON events (stream, revision);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Opens the log file, creates it if it is missing, and takes it for this process alone until it is closed (SQLite's
 * exclusive lock, which the system drops even after a SIGKILL). Every commit is on disk before it returns.
 *
 * @throws LogFileError when another process holds the file, or it is not an intact log of this version.
 */
export const openDatabase = (file: string): DatabaseSync => {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true });
    database = new DatabaseSync(file);
    lock(database);
    if (isEmpty(database)) database.exec(`BEGIN; ${SCHEMA} COMMIT;`);
    else verify(database, file);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof LogFileError ? error : new LogFileError(`${file}: ${causeOf(error)}`, { cause: error });
  }
};

const lock = (database: DatabaseSync): void => {
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA wal_autocheckpoint = 4000');
  database.exec('PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY');
  database.exec('BEGIN IMMEDIATE; COMMIT');
};

/** New, or left by a process that died while it created the file. */
const isEmpty = (database: DatabaseSync): boolean =>
  database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;

const verify = (database: DatabaseSync, file: string): void => {
  if (pragma(database, 'application_id') !== APPLICATION_ID)
    throw new LogFileError(`${file}: it is an SQLite database, but not an event log`);
  const version = pragma(database, 'user_version');
  if (version !== SCHEMA_VERSION)
    throw new LogFileError(`${file}: it has log format ${String(version)}; this program reads ${SCHEMA_VERSION}`);
  if (statSync(file).size > CHECKED_AT_START) return;
  const [finding] = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {});
  if (finding !== 'ok') throw new LogFileError(`${file}: the event log is corrupt: ${String(finding)}`);
};

const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOT_A_DATABASE = 26;

const causeOf = (error: unknown): string => {
  const code = (error as { errcode?: number }).errcode;
  if (code === SQLITE_BUSY) return 'another process has this event log open';
  if (code === SQLITE_NOT_A_DATABASE) return 'this file is not an event log (not an SQLite database)';
  if (code !== undefined && (code & 0xff) === SQLITE_CORRUPT) return 'the event log is corrupt';
  return error instanceof Error ? error.message : String(error);
};
