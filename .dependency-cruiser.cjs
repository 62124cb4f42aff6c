/*
 * Who may import whom. docs/explanation/architecture.md draws it; test/architecture/rules.spec.ts shows that each rule
 * fires. `#name` resolves to libs/name/index.ts through package.json "imports" under the condition `source`.
 */

const CONTEXTS = 'jobs|nodes|projects';
/** Pure code: folds, decisions, scores, budgets. */
const PURE = `^libs/(?:(?:${CONTEXTS})/domain|placement|governor)/`;
const SPECS = '\\.spec\\.ts$';
/** What exists to test with, and may therefore import what it tests. */
const TESTS = `(?:${SPECS}|^test/|^libs/testing/|^(?:apps|libs)/[^/]+/(?:conformance|testing)/)`;

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

const purity = [
  forbid(
    'kernel-imports-nothing',
    'The kernel is what everything stands on; only system.ts touches the outside (clock, timers, ids).',
    { path: '^libs/kernel/', pathNot: `(?:^libs/kernel/system\\.ts$|${SPECS})` },
    { pathNot: '^libs/kernel/' },
  ),
  forbid(
    'kernel-system-imports-only-uuidv7',
    'system.ts needs one generator of ids, nothing else.',
    { path: '^libs/kernel/system\\.ts$' },
    { pathNot: '^(?:libs/kernel/|node_modules/uuidv7/)' },
  ),
  forbid(
    'pure-imports-only-kernel-and-pure',
    'domain, placement and governor import the kernel and the index of one another: no npm package, no Node built-in.',
    { path: PURE, pathNot: TESTS },
    { pathNot: `^libs/(?:kernel/|(?:${CONTEXTS}|placement|governor)/(?:index\\.ts|domain/)|placement/|governor/)` },
  ),
  forbid(
    'pure-borrows-only-types',
    'Pure parts share vocabulary, not behaviour: another one is imported with `import type`.',
    { path: `^libs/(${CONTEXTS}|governor)/(?!write/|read/|api/)`, pathNot: TESTS },
    {
      path: `^libs/(?:${CONTEXTS}|placement|governor)/`,
      pathNot: '^libs/$1/',
      dependencyTypesNot: ['type-only'],
    },
  ),
  forbid(
    'placement-asks-the-governor',
    'The same, but for the core of the governor: the one place where budgets are computed (decision record 0011).',
    { path: '^libs/placement/', pathNot: TESTS },
    {
      path: `^libs/(?:${CONTEXTS}|governor)/`,
      pathNot: '^libs/governor/budget/index\\.ts$',
      dependencyTypesNot: ['type-only'],
    },
  ),
  forbid(
    'budgets-know-no-queue',
    'The core of the governor computes; it orders, holds and runs nothing.',
    { path: '^libs/governor/budget/', pathNot: TESTS },
    { path: '^libs/governor/(?!budget/)' },
  ),
  forbid(
    'context-index-is-pure',
    'A context shows its domain at its index, so that whoever imports event types does not pull in a database.',
    { path: `^libs/(${CONTEXTS})/index\\.ts$` },
    { pathNot: '^libs/$1/domain/' },
  ),
];

const rings = [
  forbid(
    'write-never-imports-read-or-api',
    'Decisions are made from events, never from a read model.',
    { path: `^libs/(?:${CONTEXTS})/write/`, pathNot: TESTS },
    { path: `^libs/(?:${CONTEXTS})/(?:read|api)/` },
  ),
  forbid(
    'read-never-imports-write-or-api',
    'A read model is built from events alone.',
    { path: `^libs/(?:${CONTEXTS})/read/`, pathNot: TESTS },
    { path: `^libs/(?:${CONTEXTS})/(?:write|api)/` },
  ),
  forbid(
    'write-needs-no-read-store',
    'The write side lives without Postgres.',
    { path: `^libs/(?:${CONTEXTS})/write/`, pathNot: TESTS },
    { path: '^libs/read-store/|^node_modules/(?:pg|typeorm)/' },
  ),
  forbid(
    'contexts-meet-at-the-index',
    'One context reaches another only through its index: event types and ids.',
    { path: `^libs/(${CONTEXTS})/`, pathNot: TESTS },
    { path: `^libs/(?:${CONTEXTS})/`, pathNot: '^libs/(?:$1/|[^/]+/index\\.ts$)' },
  ),
  forbid(
    'foundations-know-no-context',
    'Stores, platform and artifacts carry any domain; they name none.',
    { path: '^libs/(?:event-store|read-store|platform|artifacts)/', pathNot: TESTS },
    { path: `^libs/(?:${CONTEXTS}|placement|scheduling|governor)/` },
  ),
];

const edges = [
  forbid(
    'no-deep-imports',
    'A library is reached at its index or at the index of one of its rings (#jobs, #jobs/write).',
    { path: '^(apps|libs|test)/([^/]+)/' },
    { path: '^libs/', pathNot: ['^$1/$2/', '^libs/[^/]+/index\\.ts$', '^libs/[^/]+/[^/]+/index\\.ts$'] },
  ),
  forbid(
    'agent-speaks-only-its-protocol',
    'A node runs without database and event store: contracts, kernel and the governor are all it knows.',
    { path: '^apps/agent/', pathNot: TESTS },
    {
      path: '^libs/|^node_modules/(?:pg|typeorm|@nestjs|@eventstore)/',
      pathNot: '^libs/(?:contracts|kernel|governor)/',
    },
  ),
  forbid(
    'cli-is-a-client',
    'Verbs talk HTTP. `up` and `demo` launch services, replay folds the domain and `simulate` decides as the server does.',
    { path: '^apps/cli/', pathNot: `${TESTS}|^apps/cli/(?:up|demo|audit|simulate)/` },
    { path: '^libs/|^node_modules/(?:pg|typeorm|@nestjs|@eventstore)/', pathNot: '^libs/(?:contracts|kernel)/' },
  ),
  forbid(
    'cli-audit-folds-the-domain',
    'Replay adds the pure fold of the domain, nothing more.',
    { path: '^apps/cli/audit/', pathNot: TESTS },
    {
      path: '^libs/|^node_modules/(?:pg|typeorm|@nestjs|@eventstore)/',
      pathNot: `^libs/(?:contracts/|kernel/|(?:${CONTEXTS})/index\\.ts$)`,
    },
  ),
  forbid(
    'cli-simulate-places',
    '`simulate` adds the pure placement (decision record 0009), nothing more.',
    { path: '^apps/cli/simulate/', pathNot: TESTS },
    {
      path: '^libs/|^node_modules/(?:pg|typeorm|@nestjs|@eventstore)/',
      pathNot: '^libs/(?:contracts|kernel|placement)/',
    },
  ),
  forbid(
    'cli-launcher-uses-the-platform',
    '`up` and `demo` add the launchers of the platform (Postgres, tokens).',
    { path: '^apps/cli/(?:up|demo)/', pathNot: TESTS },
    {
      path: '^libs/|^node_modules/(?:pg|typeorm|@nestjs|@eventstore)/',
      pathNot: `^libs/(?:contracts|kernel|platform)/`,
    },
  ),
  forbid(
    'page-imports-contracts-kernel-and-folds',
    'The page is a client too; its time slider folds the pure domain.',
    { path: '^apps/workspace/', pathNot: TESTS },
    { path: '^libs/', pathNot: `^libs/(?:contracts/|kernel/|(?:${CONTEXTS})/index\\.ts$)` },
  ),
  forbid(
    'nobody-imports-an-app',
    'Processes start processes; only tests look inside one.',
    { path: '^(apps/[^/]+|libs|test)/', pathNot: '^test/' },
    { path: '^apps/', pathNot: '^$1/' },
  ),
  forbid(
    'product-never-imports-tests',
    'Builders, fakes and specs stay out of what ships.',
    { path: '^(?:apps|libs)/', pathNot: TESTS },
    { path: TESTS },
  ),
];

const hygiene = [
  forbid('no-cycles', 'A cycle is one module in two files.', {}, { circular: true }),
  forbid('resolvable', 'What is imported must exist.', {}, { couldNotResolve: true }),
  forbid(
    'product-needs-no-dev-package',
    'What ships runs after an install without development packages.',
    { path: '^(?:apps|libs)/', pathNot: `${TESTS}|^apps/workspace/` },
    { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
  ),
];

module.exports = {
  forbidden: [...purity, ...rings, ...edges, ...hygiene],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules|^dist/' },
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
};
