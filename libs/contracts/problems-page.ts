import { PROBLEMS } from './problems.js';
import type { ProblemKind } from './problems.js';

const section = ([code, problem]: readonly [string, ProblemKind]): string =>
  [
    `## ${code}`,
    `${problem.title}. Status ${problem.status}, ${problem.retryable ? 'may be repeated unchanged' : 'repeating it unchanged does not help'}.`,
    problem.hint,
  ].join('\n\n');

/** The reference page of all problems as Markdown; `tools/reference-pages.mjs` writes it to docs/reference/problems.md. */
export const problemsPage = (): string =>
  [
    '# Problems',
    'Errors are answered as `application/problem+json` with `type`, `code`, `title`, `detail`, `status`, `errors[]`, `retryable` and `hint`. Compare `code`: it never changes. This page is written from `libs/contracts/problems.ts` by `tools/reference-pages.mjs`.',
    ...Object.entries(PROBLEMS).map(section),
  ].join('\n\n') + '\n';
