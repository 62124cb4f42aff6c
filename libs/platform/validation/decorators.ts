import { ValidateBy, ValidateNested } from 'class-validator';
import { fault, NO_FAULTS } from './rule.js';
import type { Rule } from './rule.js';
import { list, object } from './rules.js';
import type { ListLimits } from './rules.js';

/** The class of an input. Its fields are declared, never initialised: defaults are filled in after validation. */
export type InputClass<Input extends object = object> = new () => Input;

interface NestedField {
  readonly type: () => InputClass;
  readonly many: boolean;
}

const nestedFields = new WeakMap<object, Map<string, NestedField>>();

/** How the field `name` of a class nests another class, if it does; base classes count. */
export const nestedField = (type: InputClass, name: string): NestedField | undefined => {
  for (let owner: unknown = type.prototype; typeof owner === 'object' && owner !== null;) {
    const found = nestedFields.get(owner)?.get(name);
    if (found) return found;
    owner = Object.getPrototypeOf(owner);
  }
  return undefined;
};

/** The name under which class-validator keeps our rules. */
export const FIELD = 'field';

const fieldRules = new WeakMap<object, (readonly [name: string, rule: Rule])[]>();

/** Every rule on a field of the class, those of its base classes included. */
export const rulesOf = (type: InputClass): readonly (readonly [name: string, rule: Rule])[] => {
  const rules: (readonly [string, Rule])[] = [];
  for (let owner: unknown = type.prototype; typeof owner === 'object' && owner !== null;) {
    rules.push(...(fieldRules.get(owner) ?? []));
    owner = Object.getPrototypeOf(owner);
  }
  return rules;
};

/** The rule that a class-validator error's context carries, so that its faults can be told with their places. */
export const ruleOfContexts = (contexts: Readonly<Record<string, unknown>> | undefined): Rule | undefined => {
  const context = contexts?.[FIELD] as { readonly rule?: Rule } | undefined;
  return context?.rule;
};

const apply =
  (rule: Rule): PropertyDecorator =>
  (target, property) => {
    fieldRules.set(target, [...(fieldRules.get(target) ?? []), [String(property), rule]]);
    validateBy(rule)(target, property);
  };

const validateBy = (rule: Rule): PropertyDecorator =>
  ValidateBy(
    {
      name: FIELD,
      validator: {
        validate: (value) => rule(value).length === 0,
        defaultMessage: (args) =>
          rule(args?.value)
            .map(({ at, message }) => `${args?.property ?? ''}${at} ${message}`)
            .join(', '),
      },
    },
    { context: { rule } },
  );

const all =
  (rules: readonly Rule[], absent: ReturnType<Rule>): Rule =>
  (value) =>
    value === undefined ? absent : rules.flatMap((rule) => rule(value));

const MISSING = fault('REQUIRED', 'is missing');

/** A field that must be there and pass every rule. */
export const Required = (...rules: readonly Rule[]): PropertyDecorator => apply(all(rules, MISSING));

/** A field that may be left out; when there (null is there) it must pass every rule. */
export const Optional = (...rules: readonly Rule[]): PropertyDecorator => apply(all(rules, NO_FAULTS));

export interface NestedOptions {
  readonly optional?: boolean;
  /** Rules over the whole nested value, for fields that bound each other. */
  readonly rules?: readonly Rule[];
}

const nest =
  (field: NestedField, kind: Rule, { optional = false, rules = [] }: NestedOptions): PropertyDecorator =>
  (target, property) => {
    const fields = nestedFields.get(target) ?? new Map<string, NestedField>();
    nestedFields.set(target, fields.set(String(property), field));
    ValidateNested()(target, property);
    (optional ? Optional : Required)(kind, ...rules)(target, property);
  };

/** A field that holds an object of another input class. */
export const Nested = (type: () => InputClass, options: NestedOptions = {}): PropertyDecorator =>
  nest({ type, many: false }, object, options);

/** A field that holds a list of objects of another input class. */
export const NestedList = (
  type: () => InputClass,
  { min, max, unique, ...options }: NestedOptions & ListLimits = {},
): PropertyDecorator => {
  const limits = { ...(min !== undefined && { min }), ...(max !== undefined && { max }), ...(unique && { unique }) };
  return nest({ type, many: true }, list(object, limits), options);
};
