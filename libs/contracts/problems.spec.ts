import { describe, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import { isProblemCode, problemDocs, PROBLEMS, problemType, toProblem } from './problems.js';
import type { ProblemCode } from './problems.js';
import { problemsPage } from './problems-page.js';

const codes = Object.keys(PROBLEMS) as ProblemCode[];

describe('the problem registry', () => {
  it.each(codes)('%s is complete', (code) => {
    const { title, status, hint } = PROBLEMS[code];
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    expect(title).toMatch(/[^.]$/);
    expect(hint).toMatch(/\.$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
  });

  it.each([
    ['VALIDATION_FAILED', 422],
    ['MALFORMED_JSON', 400],
    ['REVISION_MISMATCH', 412],
    ['PRECONDITION_REQUIRED', 428],
    ['IDEMPOTENCY_KEY_INVALID', 400],
    ['IDEMPOTENCY_IN_PROGRESS', 409],
    ['IDEMPOTENCY_KEY_REUSED', 422],
    ['JOB_TERMINAL', 409],
    ['RATE_LIMITED', 429],
    ['LOG_OFFSET_GAP', 409],
    ['STORE_UNAVAILABLE', 503],
  ] as const)('%s is answered with %d', (code, status) => {
    expect(PROBLEMS[code].status).toBe(status);
  });

  it('says that a refusal by overload or absence may be repeated, and a mistake may not', () => {
    const repeatable = codes.filter((code) => PROBLEMS[code].status === 503 || PROBLEMS[code].status === 429);
    const mistakes = codes.filter((code) => [400, 404, 422].includes(PROBLEMS[code].status));
    expect(repeatable.every((code) => PROBLEMS[code].retryable)).toBe(true);
    expect(mistakes.some((code) => PROBLEMS[code].retryable)).toBe(false);
  });

  it('lists every code that a decider refuses with', () => {
    const sources = globSync('libs/*/domain/*.ts').filter((file) => !file.endsWith('.spec.ts'));
    const used = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\breject\(\s*'([A-Z_]+)'/g)].map(([, code = '']) => code),
    );
    expect(used).toContain('JOB_TERMINAL');
    expect(used.filter((code) => !isProblemCode(code))).toEqual([]);
  });

  it('takes no inherited name for a code', () => {
    expect(['constructor', '__proto__', 'toString', 'NOPE'].filter(isProblemCode)).toEqual([]);
  });

  it('the reference page is the one written from the registry, with an anchor for each', () => {
    const page = readFileSync('docs/reference/problems.md', 'utf8');
    expect(page).toBe(problemsPage());
    expect(codes.filter((code) => !page.includes(`\n## ${code}\n`))).toEqual([]);
    expect(problemDocs('JOB_NOT_FOUND')).toBe('docs/reference/problems.md#job_not_found');
  });
});

describe('a problem', () => {
  it('E-01 carries every mistake with its pointer', () => {
    const errors = [{ pointer: '/count', code: 'OUT_OF_RANGE', message: 'must be 1 to 10000, not 0' }];
    expect(toProblem('VALIDATION_FAILED', 'the job has 1 mistake', { errors, traceId: 't-1' })).toEqual({
      type: problemType('VALIDATION_FAILED'),
      code: 'VALIDATION_FAILED',
      title: 'The request has mistakes',
      detail: 'the job has 1 mistake',
      status: 422,
      errors,
      retryable: false,
      hint: PROBLEMS.VALIDATION_FAILED.hint,
      traceId: 't-1',
    });
  });

  it('keeps values for programs, and lets none replace a standard member', () => {
    const problem = toProblem('LOG_OFFSET_GAP', 'bytes 10 to 19 are missing', { expected: 10, status: 200 });
    expect(problem).toMatchObject({ expected: 10, status: 409, errors: [], retryable: true });
  });

  it('an unregistered code is our own fault and is named', () => {
    const problem = toProblem('NO_SUCH_CODE', 'refused');
    expect(problem).toMatchObject({
      code: 'INTERNAL',
      status: 500,
      detail: 'refused (unregistered code NO_SUCH_CODE)',
    });
  });
});
