import { isTimeZone } from '#placement';
import {
  below,
  choice,
  duration,
  fault,
  first,
  identifier,
  instantOf,
  instantRule,
  isRecord,
  line,
  list,
  map,
  mapChecked,
  Nested,
  NestedList,
  NO_FAULTS,
  number,
  Optional,
  plain,
  Required,
  secondsOf,
  shown,
  text,
  validateInput,
} from '#platform/validation';
import type { Checked, Measure, Rule } from '#platform/validation';
import type { Maintenance, Policy, Weekday } from '../../domain/policy.js';

/* What the owner of a node accepts, as it is sent. */

const WEEKDAYS: readonly Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

const names = list(line(), { max: 10_000 });
const timeOfDay = text({ max: 5, form: /^(?:[01]\d|2[0-3]):[0-5]\d$/, says: 'a time of day from 00:00 to 23:59' });
const timeZone: Rule = first(line(), (value) =>
  isTimeZone(String(value)) ? NO_FAULTS : fault('NOT_ALLOWED', `is no known time zone: ${shown(value)}`),
);
const price = number({ min: 0 });

export class AccessListDto {
  @Optional(names)
  institutions?: readonly string[];

  @Optional(names)
  projects?: readonly string[];

  @Optional(names)
  accounts?: readonly string[];

  @Optional(names)
  applications?: readonly string[];
}

export class TimeWindowDto {
  @Required(list(choice(WEEKDAYS), { min: 1, max: 7, unique: (day) => day }))
  days!: readonly Weekday[];

  @Required(timeOfDay)
  from!: string;

  @Required(timeOfDay)
  to!: string;

  @Required(timeZone)
  timeZone!: string;
}

export class PriceDto {
  @Optional(price)
  cpuHour?: number;

  @Optional(price)
  gpuHour?: number;

  @Optional(price)
  memoryGiBHour?: number;
}

export class MaintenanceDto {
  @Required(instantRule)
  from!: string;

  @Required(instantRule)
  until!: string;

  @Required(text({ max: 1000 }))
  reason!: string;
}

/** Each ends after it begins. Times that are none are told by their own rule. */
const endsAfterItBegins: Rule = (value) =>
  (Array.isArray(value) ? value : []).flatMap((item: unknown, index) => {
    const { from, until } = isRecord(item) ? item : {};
    const over = instantRule(from).length === 0 && instantRule(until).length === 0;
    return over && instantOf(String(until)) <= instantOf(String(from))
      ? below(index, fault('CONFLICT', `must be after from, which is ${shown(from)}`, '/until'))
      : NO_FAULTS;
  });

export class PolicyDto {
  @Nested(() => AccessListDto, { optional: true })
  allow?: AccessListDto;

  @Nested(() => AccessListDto, { optional: true })
  deny?: AccessListDto;

  @NestedList(() => TimeWindowDto, { optional: true, max: 100 })
  windows?: readonly TimeWindowDto[];

  @Optional(duration(0.001))
  maxDuration?: Measure;

  @Optional(map(identifier, number({ min: 0, max: 1 }), 1000))
  maxShare?: Readonly<Record<string, number>>;

  @Nested(() => PriceDto, { optional: true })
  price?: PriceDto;

  @NestedList(() => MaintenanceDto, { optional: true, max: 100, rules: [endsAfterItBegins] })
  maintenance?: readonly MaintenanceDto[];
}

/** The policy that a checked one describes: `maxDuration` in seconds, moments in UTC. */
export const toPolicy = ({ maxDuration, maintenance, ...rest }: Partial<PolicyDto>): Policy => ({
  ...plain(rest),
  ...(maxDuration !== undefined && { maxDuration: secondsOf(maxDuration) }),
  ...(maintenance && { maintenance: maintenance.map(toMaintenance) }),
});

const toMaintenance = ({ from, until, reason }: MaintenanceDto): Maintenance => ({
  from: instantOf(from),
  until: instantOf(until),
  reason,
});

export const parsePolicy = (input: unknown): Checked<Policy> => mapChecked(validateInput(PolicyDto, input), toPolicy);
