import type { EventHeading } from '../log/record.js';

/** Which events of `$all` a reader wants. With a regex the prefixes are not looked at; with neither, nothing matches. */
export interface FilterSpec {
  readonly on: 'stream' | 'type';
  readonly regex: string;
  readonly prefixes: readonly string[];
}

export type EventFilter = (event: EventHeading) => boolean;

/** @throws SyntaxError when the regex cannot be read. */
export const buildFilter = ({ on, regex, prefixes }: FilterSpec): EventFilter => {
  const matches = regex === '' ? byPrefix(prefixes) : byRegex(regex);
  return on === 'stream' ? (event) => matches(event.stream) : (event) => matches(event.type);
};

const byPrefix =
  (prefixes: readonly string[]) =>
  (text: string): boolean =>
    prefixes.some((prefix) => text.startsWith(prefix));

/** The server's regexes are .NET's: options may stand in front, as in `(?i)^job-`. */
const byRegex = (source: string): ((text: string) => boolean) => {
  const [, options = '', rest = source] = /^\(\?([ims]+)\)(.*)$/s.exec(source) ?? [];
  const expression = new RegExp(rest, options);
  return (text) => expression.test(text);
};

const EVENTS_PER_INTERVAL = 32;

/**
 * Counts the events that a filtered subscription has considered, matching or not, and says when a checkpoint is due:
 * every `multiplier` × `window` of them. The window is 32 unless the subscriber names another.
 */
export class CheckpointCounter {
  private considered = 0;
  private readonly interval: number;

  constructor(multiplier: number, window: number | undefined) {
    this.interval = multiplier * (window ?? EVENTS_PER_INTERVAL);
  }

  /** Counts one event; true when a checkpoint is due at it. */
  count(): boolean {
    this.considered += 1;
    if (this.considered < this.interval) return false;
    this.considered = 0;
    return true;
  }
}
