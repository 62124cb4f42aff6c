import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import type { Logger } from '../protocol/context.js';

/** Logs one JSON object a line to stderr; stdout is for the ready line alone. */
export const jsonLogger = (clock: Clock): Logger => {
  const write =
    (level: string) =>
    (message: string, fields: object = {}): void => {
      const line = { time: toInstant(clock.now()), level, component: 'eventstore', message, ...fields };
      process.stderr.write(`${JSON.stringify(line)}\n`);
    };
  return { info: write('info'), warn: write('warn'), error: write('error') };
};
