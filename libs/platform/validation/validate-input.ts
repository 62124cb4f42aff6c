import { getMetadataStorage, validateSync } from 'class-validator';
import type { ValidationError } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import type { ProblemItem } from '#contracts';
import { FIELD, nestedField, ruleOfContexts, rulesOf } from './decorators.js';
import type { InputClass } from './decorators.js';
import { below, fault, isRecord, step } from './rule.js';
import type { Checked, Fault, Rule } from './rule.js';
import { DEFAULT_LIMITS, shapeFaults } from './shape.js';
import type { ShapeLimits } from './shape.js';
import { didYouMean } from './suggest.js';

/** Most mistakes named in one answer. */
const MAX_ERRORS = 100;

/** What class-validator knows of the class and its base classes. */
const metadataOf = (type: InputClass): readonly ValidationMetadata[] =>
  getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);

const namesOf = new WeakMap<InputClass, readonly string[]>();

const knownNames = (type: InputClass): readonly string[] => {
  const known = namesOf.get(type) ?? [...new Set(metadataOf(type).map(({ propertyName }) => propertyName))];
  namesOf.set(type, known);
  return known;
};

/** Unknown names found on the way, and the way itself: a pointer is made only for a mistake. */
interface Making {
  readonly faults: Fault[];
  readonly path: (string | number)[];
}

/**
 * Makes the instance that class-validator wants, from own properties only. Unknown names are told here and not by its
 * whitelist, which takes `__proto__` and `constructor` for known.
 */
const instantiate = (type: InputClass, raw: Readonly<Record<string, unknown>>, making: Making): object => {
  const known = knownNames(type);
  const instance = new type() as Record<string, unknown>;
  for (const [key, value] of Object.entries(raw)) {
    making.path.push(key);
    if (known.includes(key)) instance[key] = nestedValue(type, key, value, making);
    else {
      const at = making.path.map(step).join('');
      making.faults.push(...fault('UNKNOWN_FIELD', `is not a known field${didYouMean(key, known)}`, at));
    }
    making.path.pop();
  }
  return instance;
};

const nestedValue = (type: InputClass, key: string, value: unknown, making: Making): unknown => {
  const field = nestedField(type, key);
  if (!field) return value;
  if (!field.many) return isRecord(value) ? instantiate(field.type(), value, making) : value;
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown, index) => {
    if (!isRecord(item)) return item;
    making.path.push(index);
    const instance = instantiate(field.type(), item, making);
    making.path.pop();
    return instance;
  });
};

/** The rules of a class, gathered once; undefined when it has decorators that are not ours. */
type Plan = readonly { readonly name: string; readonly rule: Rule; readonly nested: InputClass | undefined }[];

const plans = new WeakMap<InputClass, Plan | undefined>();

const planOf = (type: InputClass): Plan | undefined => {
  if (plans.has(type)) return plans.get(type);
  const rules = rulesOf(type).map(([name, rule]) => ({ name, rule, nested: nestedField(type, name)?.type() }));
  const plan = metadataOf(type).every(isOurs) ? rules : undefined;
  plans.set(type, plan);
  return plan;
};

const isOurs = ({ type, name }: ValidationMetadata): boolean => type === 'nestedValidation' || name === FIELD;

/**
 * Whether every rule is content. Most input is right, and class-validator takes several times as long to find nothing; it
 * is asked when there is something to tell.
 */
const passes = (type: InputClass, instance: Readonly<Record<string, unknown>>): boolean =>
  planOf(type)?.every(({ name, rule, nested }) => {
    const value = instance[name];
    if (rule(value).length > 0) return false;
    if (!nested || value === undefined) return true;
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    return items.every((item) => isRecord(item) && passes(nested, item));
  }) ?? false;

/** A nested value of the wrong type is told by the decorator's own rule, so class-validator's words for it are dropped. */
const NESTED: readonly string[] = ['nestedValidation', 'unknownValue'];

const ownFaults = (error: ValidationError): readonly Fault[] => {
  const rule = ruleOfContexts(error.contexts);
  if (rule) return rule(error.value);
  return Object.entries(error.constraints ?? {})
    .filter(([constraint]) => !NESTED.includes(constraint))
    .flatMap(([, message]) => fault('INVALID', message));
};

const faultsOf = (errors: readonly ValidationError[]): readonly Fault[] =>
  errors.flatMap((error) => below(error.property, [...ownFaults(error), ...faultsOf(error.children ?? [])]));

/** Mistakes as they are answered: at most a hundred, the last then saying how many more there are. */
export const toErrors = (faults: readonly Fault[]): readonly ProblemItem[] => {
  const items = faults.map(({ at, code, message }) => ({ pointer: at, code, message }));
  if (items.length <= MAX_ERRORS) return items;
  const rest = items.length - MAX_ERRORS + 1;
  return [...items.slice(0, MAX_ERRORS - 1), { pointer: '', code: 'MORE', message: `has ${rest} more mistakes` }];
};

/**
 * Checks input of any origin against a class whose fields carry rules: the one way in for job files, requests and
 * reports. Names every mistake at once; a field that the class does not know is one. `whole` are rules over all of it, for
 * fields that bound each other from far apart.
 */
export const validateInput = <Input extends object>(
  type: InputClass<Input>,
  input: unknown,
  limits: ShapeLimits = DEFAULT_LIMITS,
  whole: readonly Rule[] = [],
): Checked<Input> => {
  const shape = shapeFaults(input, limits);
  if (shape.length > 0 || !isRecord(input)) return refuse(shape);
  const unknown: Fault[] = [];
  const value = instantiate(type, input, { faults: unknown, path: [] }) as Input;
  const across = whole.flatMap((rule) => rule(value));
  const right = unknown.length === 0 && across.length === 0;
  if (right && passes(type, value as Readonly<Record<string, unknown>>)) return { ok: true, value };
  const errors = validateSync(value, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true });
  const faults = [...unknown, ...faultsOf(errors), ...across];
  return faults.length === 0 ? { ok: true, value } : refuse(faults);
};

/** The answer that names these mistakes. */
export const refuse = (faults: readonly Fault[]): Checked<never> => ({ ok: false, errors: toErrors(faults) });

/** A checked input as plain data, without its classes: what events and answers are made of. */
export const plain = <Value>(checked: Value): Value => structuredClone(checked);

/** Goes on with the value of an input that passed, or hands its mistakes through. */
export const mapChecked = <From, To>(checked: Checked<From>, make: (value: From) => To): Checked<To> =>
  checked.ok ? { ok: true, value: make(checked.value) } : checked;

/** Checks each item of a list by its own parser; the mistakes carry the item's index. */
export const checkEach = <Item>(
  input: unknown,
  max: number,
  parse: (item: unknown) => Checked<Item>,
): Checked<readonly Item[]> => {
  if (!Array.isArray(input)) return refuse(fault('WRONG_TYPE', 'must be a list'));
  if (input.length > max) return refuse(fault('TOO_LONG', `has ${input.length} items, over ${max}`));
  const items = input.map((item: unknown) => parse(item));
  const errors = items.flatMap((item, index) =>
    item.ok ? [] : item.errors.map((error) => ({ ...error, pointer: step(index) + error.pointer })),
  );
  return errors.length > 0
    ? { ok: false, errors: errors.slice(0, MAX_ERRORS) }
    : { ok: true, value: items.flatMap((item) => (item.ok ? [item.value] : [])) };
};
