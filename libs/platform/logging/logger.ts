import { pino } from 'pino';
import type { Logger as PinoLogger } from 'pino';

/** A structured logger: one JSON line each on stderr, so that stdout stays for data. */
export type Logger = PinoLogger;

/** `level` is one of pino's (`debug`, `info`, `warn`, `error`, `silent`). Payloads and tokens are never logged. */
export const createLogger = (name: string, level: string): Logger =>
  pino(
    { name, level, timestamp: pino.stdTimeFunctions.isoTime, base: { name } },
    pino.destination({ dest: 2, sync: true }),
  );
