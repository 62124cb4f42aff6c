import { parseConstraint, parseVersionRange } from '#placement';
import type { SyntaxProblem } from '#placement';
import { fault, first, NO_FAULTS, text } from '#platform/validation';
import type { Rule } from '#platform/validation';

/* Texts that the placement reads: whoever runs it decides what they mean, so its own parsers check them. */

const readBy = (parse: (text: string) => { readonly kind: string } | SyntaxProblem): Rule =>
  first(text({ max: 1024 }), (value) => {
    const parsed = parse(String(value));
    return isProblem(parsed)
      ? fault('MALFORMED', `is not understood at character ${parsed.position + 1}: ${parsed.message}`)
      : NO_FAULTS;
  });

const isProblem = (parsed: { readonly kind: string } | SyntaxProblem): parsed is SyntaxProblem =>
  parsed.kind === 'problem';

/** A range of versions as packages name them: `>=20`, `1.26.x`, `^3 || 5`. */
export const versionRange: Rule = readBy(parseVersionRange);

/** A condition on a node's attributes: `region in (br, eu)`, `!spot`. */
export const constraint: Rule = readBy(parseConstraint);
