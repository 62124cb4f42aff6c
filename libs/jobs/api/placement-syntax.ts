import { fault, first, NO_FAULTS, shown, text } from '#platform/validation';
import type { Rule } from '#platform/validation';

/** A range of versions as packages name them: `>=20`, `1.26.x`, `^3 || 5`. */
export const versionRange: Rule = first(text({ max: 256 }), (value) =>
  /^[\w\s.,*<>=!~^|+-]+$/.test(String(value)) && /[\d*x]/i.test(String(value))
    ? NO_FAULTS
    : fault('MALFORMED', `is no range of versions: ${shown(value)}`),
);

const KEY = '[A-Za-z0-9._/-]+';
const VALUE = '(?:"(?:[^"\\\\]|\\\\.)*"|[^\\s",()]+)';
const CONSTRAINT = new RegExp(
  `^\\s*(?:!?\\s*${KEY}|${KEY}\\s*(?:==|=|!=|>=|<=|>|<)\\s*${VALUE}|${KEY}\\s+(?:in|notin)\\s*\\(\\s*${VALUE}(?:\\s*,\\s*${VALUE})*\\s*\\))\\s*$`,
);

/** A condition on a node's attributes: `region in (br, eu)`, `!spot`. */
export const constraint: Rule = first(text({ max: 1024 }), (value) =>
  CONSTRAINT.test(String(value)) ? NO_FAULTS : fault('MALFORMED', `is no constraint: ${shown(value)}`),
);
