import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { EVENT_TYPES } from '#contracts';
import {
  below,
  choice,
  duration,
  fault,
  first,
  identifier,
  isRecord,
  list,
  NestedList,
  NO_FAULTS,
  Optional,
  Required,
  secondsOf,
  text,
  validateInput,
  whole,
} from '#platform/validation';
import type { Fault, Measure, Rule } from '#platform/validation';
import { messageOf } from './message-of.js';

/** What one subscriber of the file is, with every default filled in. */
export interface ConfiguredSubscriber {
  readonly name: string;
  readonly to:
    | { readonly kind: 'webhook'; readonly url: string; readonly secret: string | undefined }
    | { readonly kind: 'command'; readonly command: readonly string[] };
  /** Types of events. */
  readonly events: readonly string[];
  readonly from: 'start' | 'now';
  /** Milliseconds. */
  readonly timeout: number;
  /** After how many failures of one delivery it is given up; undefined: never. */
  readonly giveUpAfter: number | undefined;
  readonly concurrency: number;
}

/** What is told when a subscriber does not choose: every step of a job that somebody may wait for. */
export const DEFAULT_EVENTS: readonly string[] = [
  'JobSubmitted',
  'ExecutionReserved',
  'ReservationConfirmed',
  'ReservationDeclined',
  'ReservationExpired',
  'ExecutionStarted',
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionCancelled',
  'JobCompleted',
  'JobFailed',
  'JobCancelled',
];

const DEFAULTS = { from: 'now', timeout: '10s', concurrency: 8 } as const;

const address: Rule = first(text({ max: 2048 }), (value) =>
  /^https?:$/.test(URL.parse(String(value))?.protocol ?? '')
    ? NO_FAULTS
    : fault('MALFORMED', 'must be an http:// or https:// address'),
);

class SubscriberDto {
  @Required(identifier)
  name!: string;

  @Optional(address)
  url?: string;

  @Optional(text({ max: 4096 }))
  secretFile?: string;

  @Optional(list(text({ max: 4096 }), { min: 1, max: 100 }))
  command?: readonly string[];

  @Optional(list(choice(EVENT_TYPES), { min: 1 }))
  events?: readonly string[];

  @Optional(choice(['start', 'now']))
  from?: 'start' | 'now';

  @Optional(duration(0.1, 600))
  timeout?: Measure;

  @Optional(whole(1, 1_000_000))
  giveUpAfter?: number;

  @Optional(whole(1, 64))
  concurrency?: number;
}

/** One way each, and no secret for what is not signed. */
const oneWay: Rule = (value): readonly Fault[] => {
  if (!Array.isArray(value)) return NO_FAULTS;
  return value.flatMap((one: unknown, index) => {
    if (!isRecord(one)) return NO_FAULTS;
    const ways = [one.url, one.command].filter((way) => way !== undefined).length;
    if (ways !== 1) return below(index, fault('CONFLICT', 'needs either url or command'));
    return one.command !== undefined && one.secretFile !== undefined
      ? below(index, fault('CONFLICT', 'signs what is sent to a url only', '/secretFile'))
      : NO_FAULTS;
  });
};

const nameOf = (one: unknown): unknown => (isRecord(one) ? one.name : undefined);

class SubscriberFileDto {
  @NestedList(() => SubscriberDto, { max: 100, unique: nameOf, rules: [oneWay] })
  subscribers!: readonly SubscriberDto[];
}

export type ReadSubscribers =
  | { readonly ok: true; readonly subscribers: readonly ConfiguredSubscriber[] }
  | { readonly ok: false; readonly mistakes: readonly string[] };

/** Reads the file of subscribers, YAML or JSON, and the secrets that it names; all mistakes at once. */
export const readSubscriberFile = (path: string): ReadSubscribers => {
  let input: unknown;
  try {
    input = parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return {
      ok: false,
      mistakes: [`${path}: ${firstLine(messageOf(error))}`],
    };
  }
  const checked = validateInput(SubscriberFileDto, input);
  if (!checked.ok) {
    return {
      ok: false,
      mistakes: checked.errors.map(({ pointer, message }) => `${path}: ${pointer || '/'} ${message}`),
    };
  }
  const mistakes: string[] = [];
  const subscribers = checked.value.subscribers.map((one) => configured(one, dirname(resolve(path)), mistakes));
  return mistakes.length > 0 ? { ok: false, mistakes } : { ok: true, subscribers };
};

const firstLine = (message: string): string => message.split('\n')[0] ?? '';

const configured = (dto: SubscriberDto, folder: string, mistakes: string[]): ConfiguredSubscriber => {
  const { name, url, command = [], secretFile, events = DEFAULT_EVENTS } = dto;
  const secret = secretFile === undefined ? undefined : secretOf(name, resolve(folder, secretFile), mistakes);
  return {
    name,
    to: url === undefined ? { kind: 'command', command: [...command] } : { kind: 'webhook', url, secret },
    events: [...new Set(events)],
    from: dto.from ?? DEFAULTS.from,
    timeout: secondsOf(dto.timeout ?? DEFAULTS.timeout) * 1000,
    giveUpAfter: dto.giveUpAfter,
    concurrency: dto.concurrency ?? DEFAULTS.concurrency,
  };
};

const secretOf = (name: string, path: string, mistakes: string[]): string => {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (secret === '') mistakes.push(`subscriber ${name}: ${path} is empty`);
    return secret;
  } catch (error) {
    mistakes.push(`subscriber ${name}: ${messageOf(error)}`);
    return '';
  }
};
