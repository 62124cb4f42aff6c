import prettier from 'eslint-config-prettier';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/*
 * Start strict; whatever is off says why. What these rules keep, beyond correctness: time, timers, ids and chance enter
 * through the kernel's ports alone (so that the whole control plane runs in virtual time from a seed), unions are
 * switched over exhaustively, no promise is dropped, and functions and files stay small enough to read at once.
 */

const SYSTEM_PORTS = 'Take a Clock, Timers, Ids or Random port from #kernel: only libs/kernel/system.ts may call this.';

const banned = (object, property) => ({ object, property, message: SYSTEM_PORTS });

const onlyThroughPorts = {
  'no-restricted-globals': ['error', ...['setTimeout', 'setInterval'].map((name) => ({ name, message: SYSTEM_PORTS }))],
  'no-restricted-properties': [
    'error',
    banned('Date', 'now'),
    banned('Math', 'random'),
    banned('crypto', 'randomUUID'),
    banned('performance', 'now'),
    banned('process', 'hrtime'),
    banned('globalThis', 'setTimeout'),
    banned('globalThis', 'setInterval'),
  ],
  'no-restricted-syntax': [
    'error',
    { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: SYSTEM_PORTS },
    { selector: "CallExpression[callee.name='Date']", message: SYSTEM_PORTS },
  ],
  'no-restricted-imports': [
    'error',
    {
      paths: [
        { name: 'node:timers', message: SYSTEM_PORTS },
        { name: 'node:timers/promises', message: SYSTEM_PORTS },
        { name: 'uuidv7', message: SYSTEM_PORTS },
        { name: 'node:crypto', importNames: ['randomUUID'], message: SYSTEM_PORTS },
        { name: 'node:perf_hooks', importNames: ['performance'], message: SYSTEM_PORTS },
      ],
    },
  ],
};

const withoutPorts = Object.fromEntries(Object.keys(onlyThroughPorts).map((rule) => [rule, 'off']));

export default defineConfig(
  globalIgnores(['dist/', 'node_modules/', 'coverage/', '.escalon/', 'apps/workspace/src/gql/']),
  {
    files: ['apps/**/*.ts', 'libs/**/*.ts', 'test/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      // One program for the whole repository, from the tsconfig that `npm run types` uses.
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      ...onlyThroughPorts,
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        // A `default` that hands the value to `unreachable` is how a stranger at run time becomes a fault.
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true, IIFEs: true }],
      eqeqeq: 'error',
      'no-console': 'error',
      // Numbers and instants are what most messages are made of; objects in a template stay forbidden.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `() => void call()` and `() => call()` for effects read well and hide nothing.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // Nest's modules are classes without members.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // An interface's method may be async where one implementation has nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      // `'$all' | string` tells the reader which text is special, though the compiler folds it.
      '@typescript-eslint/no-redundant-type-constituents': 'off',
      // A loop that only an abort or a return ends is `while (true)`.
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
    },
  },
  {
    // The one place that may touch the real clock, timers and random source.
    files: ['libs/kernel/system.ts'],
    rules: withoutPorts,
  },
  {
    // Tables of events, commands and state: an exhaustive switch over a union may be long, a step of it may not.
    files: ['libs/*/domain/**/*.ts', 'libs/**/*.projection.ts'],
    rules: { 'max-lines-per-function': ['error', { max: 90, skipBlankLines: true, skipComments: true }] },
  },
  {
    // Tests: a describe block is a function, and a table of cases is long. Whole processes have no fake clock, so their
    // bounded polls need real time, and a harness writes down what it measured.
    files: ['**/*.spec.ts', 'test/**/*.ts', 'libs/testing/**/*.ts', 'libs/*/conformance/**/*.ts'],
    rules: {
      ...withoutPorts,
      'max-lines': 'off',
      'max-lines-per-function': 'off',
      'no-console': 'off',
      // In a test a wrong shape fails the test; spelling each guard out would hide what is tested.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    // Plain scripts of the repository and the examples: no types to check, run by people on real time.
    files: ['*.js', '*.cjs', 'bin/**/*.js', 'tools/**/*.mjs', 'examples/**/*.mjs'],
    rules: { eqeqeq: 'error', 'no-undef': 'off', 'max-lines': ['error', 300] },
  },
  prettier,
);
