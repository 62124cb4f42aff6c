import { FACTORS } from '../../domain/job-spec.js';
import type { Weights } from '../../domain/job-spec.js';
import { PROFILE_NAMES } from '#placement';
import { invalid, parsed } from '#platform/http';
import {
  choice,
  didYouMean,
  fault,
  identifier,
  NO_FAULTS,
  Optional,
  plain,
  Required,
  shown,
  text,
  validateInput,
} from '#platform/validation';
import type { Fault, InputClass, Rule } from '#platform/validation';
import type { DecisionRange } from '#scheduling';

const position = text({ max: 20, form: /^\d{1,19}$/, says: 'a position of the log' });

class RangeQuery {
  @Optional(identifier)
  readonly job?: string;

  @Optional(position)
  readonly from?: string;

  @Optional(position)
  readonly to?: string;
}

const pairsOf = (given: string): [name: string, amount: string][] =>
  given.split(',').map((part) => {
    const [name = '', ...amount] = part.split('=');
    return [name.trim(), amount.join('=').trim()];
  });

/** `resources=40,reliability=20,…`: all five, each once, each 0 to 100, not all of them 0. Every mistake is named. */
const weights: Rule = (value) => {
  if (typeof value !== 'string') return text()(value);
  const pairs = pairsOf(value);
  const names = pairs.map(([name]) => name);
  const absent = FACTORS.filter((name) => !names.includes(name));
  const faults = pairs.flatMap(([name, amount], index) => weightFaults(name, amount, names.indexOf(name) < index));
  if (absent.length > 0) faults.push(...fault('REQUIRED', `must name all five; ${absent.join(', ')} missing`));
  const none = pairs.every(([, amount]) => Number(amount) === 0);
  return faults.length === 0 && none ? fault('CONFLICT', 'must not all be 0') : faults;
};

const weightFaults = (name: string, amount: string, again: boolean): readonly Fault[] => {
  if (!(FACTORS as readonly string[]).includes(name)) {
    return fault('UNKNOWN_FIELD', `names ${shown(name)}, which is no factor${didYouMean(name, FACTORS)}`);
  }
  if (again) return fault('DUPLICATE', `names ${name} twice`);
  const fits = /^\d{1,3}(?:\.\d{1,6})?$/.test(amount) && Number(amount) <= 100;
  return fits ? NO_FAULTS : fault('OUT_OF_RANGE', `gives ${name} ${shown(amount)}, which is not 0 to 100`);
};

const weightsOf = (given: string): Weights =>
  Object.fromEntries(pairsOf(given).map(([name, amount]) => [name, Number(amount)])) as unknown as Weights;

class WhatIfQuery extends RangeQuery {
  @Required(weights)
  readonly weights!: string;

  @Optional(choice([...PROFILE_NAMES, 'custom']))
  readonly profile?: string;
}

export interface AskedWhatIf {
  readonly range: DecisionRange;
  readonly weights: Weights;
  readonly profile: string | undefined;
}

/** The decisions that a request is about. Throws the problem that names every mistake. */
export const readRange = (query: unknown): DecisionRange => rangeOf(read(RangeQuery, query));

export const readWhatIf = (query: unknown): AskedWhatIf => {
  const asked = read(WhatIfQuery, query);
  return { range: rangeOf(asked), weights: weightsOf(asked.weights), profile: asked.profile };
};

const read = <Query extends object>(type: InputClass<Query>, query: unknown) => {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  return plain(parsed(validateInput(type, Object.fromEntries(given))));
};

const rangeOf = ({ job, from, to }: { readonly [Name in keyof RangeQuery]: RangeQuery[Name] }): DecisionRange => {
  const [after, upTo] = [from, to].map((text) => (text === undefined ? undefined : BigInt(text)));
  if (after !== undefined && upTo !== undefined && after > upTo) {
    throw invalid([
      { pointer: '/to', code: 'CONFLICT', message: `must not be before from, which is ${String(after)}` },
    ]);
  }
  return { jobId: job, after, upTo };
};
