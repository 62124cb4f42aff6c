import { describe, expect, it, beforeAll, afterAll } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/* A rule that never fires protects nothing: a small repository of the same shape breaks each one, once. */

const root = resolve('.');
const config = join(root, '.dependency-cruiser.cjs');
const cruiser = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruiser.mjs');

/* Only the imports count here: the files are read, never compiled or run. */
const value = (module: string): string => `import { x } from '${module}';\nexport const y = x;\n`;
const type = (module: string): string => `import type { x } from '${module}';\nexport type Y = typeof x;\n`;
const leaf = 'export const x = 1;\n';

/** What is as it should be: none of these files may be named by a violation. */
const sound: Record<string, string> = {
  'libs/kernel/index.ts': `export { x } from './system.js';\n`,
  'libs/kernel/system.ts': value('uuidv7') + leaf,
  'libs/contracts/index.ts': `export type { x } from '#jobs';\n`,
  'libs/platform/index.ts': leaf,
  'libs/platform/auth/index.ts': value('#kernel') + leaf,
  'libs/platform/auth/inner.ts': leaf,
  'libs/event-store/index.ts': leaf,
  'libs/read-store/index.ts': leaf,
  'libs/scheduling/index.ts': value('#jobs/write') + leaf,
  'libs/scheduling/bad-cycle.ts': value('./bad-cycle-back.js'),
  'libs/testing/index.ts': value('#nodes') + leaf,
  'libs/jobs/index.ts': `export { x } from './domain/events.js';\n`,
  'libs/jobs/domain/events.ts': leaf + type('#nodes'),
  'libs/jobs/domain/events.spec.ts': value('#testing') + value('./events.js'),
  'libs/jobs/write/index.ts': value('#event-store') + value('../domain/events.js') + leaf,
  'libs/jobs/read/index.ts': value('#read-store') + leaf,
  'libs/jobs/api/index.ts': value('../write/index.js') + leaf,
  'libs/nodes/index.ts': `export { x } from './domain/events.js';\n`,
  'libs/nodes/domain/events.ts': leaf + value('#kernel'),
  'libs/nodes/write/index.ts': leaf,
  'libs/nodes/write/inner.ts': leaf,
  'libs/governor/index.ts': leaf,
  'libs/governor/budget/index.ts': leaf,
  'libs/placement/index.ts': value('#governor/budget') + type('#jobs') + leaf,
  'apps/agent/main.ts': value('#governor') + value('#contracts'),
  'apps/cli/job/submit.ts': value('#contracts'),
  'apps/cli/audit/replay.ts': value('#jobs'),
  'apps/cli/up/tokens.ts': value('#platform/auth'),
  'apps/orchestrator/main.ts': value('#jobs/api') + value('pg'),
  'apps/orchestrator/module.ts': leaf,
  'test/e2e/journey.ts': value('../../apps/orchestrator/module.js'),
};

/** rule → the file that breaks it, and how. */
const broken: readonly (readonly [rule: string, file: string, text: string])[] = [
  ['kernel-imports-nothing', 'libs/kernel/bad-builtin.ts', value('node:fs')],
  ['kernel-system-imports-only-uuidv7', 'libs/kernel/system.ts', value('pg')],
  ['pure-imports-only-kernel-and-pure', 'libs/jobs/domain/bad-package.ts', value('pg')],
  ['pure-imports-only-kernel-and-pure', 'libs/governor/bad-builtin.ts', value('node:fs')],
  ['pure-imports-only-kernel-and-pure', 'libs/placement/bad-library.ts', type('#event-store')],
  ['pure-borrows-only-types', 'libs/projects/domain/bad-value.ts', value('#jobs')],
  ['pure-borrows-only-types', 'libs/jobs/domain/bad-budget.ts', value('#governor/budget')],
  ['placement-asks-the-governor', 'libs/placement/bad-value.ts', value('#jobs')],
  ['placement-asks-the-governor', 'libs/placement/bad-queue.ts', value('#governor')],
  ['budgets-know-no-queue', 'libs/governor/budget/bad-queue.ts', value('../index.js')],
  ['context-index-is-pure', 'libs/projects/index.ts', `export { x } from '#kernel';\n`],
  ['write-never-imports-read-or-api', 'libs/jobs/write/bad-read.ts', value('../read/index.js')],
  ['write-never-imports-read-or-api', 'libs/jobs/write/bad-api.ts', type('../api/index.js')],
  ['read-never-imports-write-or-api', 'libs/jobs/read/bad-write.ts', value('../write/index.js')],
  ['write-needs-no-read-store', 'libs/jobs/write/bad-store.ts', value('#read-store')],
  ['contexts-meet-at-the-index', 'libs/jobs/api/bad-context.ts', value('#nodes/write')],
  ['foundations-know-no-context', 'libs/platform/bad-context.ts', type('#jobs')],
  ['no-deep-imports', 'libs/scheduling/bad-deep.ts', value('../nodes/write/inner.js')],
  ['no-deep-imports', 'apps/orchestrator/bad-deep.ts', value('../../libs/platform/auth/inner.js')],
  ['agent-speaks-only-its-protocol', 'apps/agent/bad-store.ts', value('#event-store')],
  ['agent-speaks-only-its-protocol', 'apps/agent/bad-package.ts', value('pg')],
  ['cli-is-a-client', 'apps/cli/job/bad-domain.ts', value('#jobs')],
  ['cli-is-a-client', 'apps/cli/bad-platform.ts', value('#platform')],
  ['cli-audit-folds-the-domain', 'apps/cli/audit/bad-platform.ts', value('#platform')],
  ['cli-simulate-places', 'apps/cli/simulate/bad-domain.ts', value('#jobs')],
  ['cli-launcher-uses-the-platform', 'apps/cli/up/bad-store.ts', value('#event-store')],
  ['page-imports-contracts-kernel-and-folds', 'apps/workspace/src/bad-platform.ts', value('#platform')],
  ['nobody-imports-an-app', 'apps/cli/up/bad-app.ts', value('../../orchestrator/module.js')],
  ['nobody-imports-an-app', 'libs/scheduling/bad-app.ts', value('../../apps/orchestrator/module.js')],
  ['product-never-imports-tests', 'libs/scheduling/bad-testing.ts', value('#testing')],
  // A cycle is named once, at one of its files.
  ['no-cycles', 'libs/scheduling/bad-cycle-back.ts', value('./bad-cycle.js')],
  ['resolvable', 'apps/orchestrator/bad-missing.ts', value('#nowhere')],
  ['product-needs-no-dev-package', 'apps/orchestrator/bad-dev.ts', value('jest-like')],
];

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}

describe('dependency rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'escalon-rules-'));
  let violations: string[] = [];

  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };

  beforeAll(() => {
    const { imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { imports: unknown };
    const packages = { dependencies: { pg: '1', uuidv7: '1' }, devDependencies: { 'jest-like': '1' } };
    write('package.json', JSON.stringify({ name: 'fixture', type: 'module', imports, ...packages }));
    write('tsconfig.json', readFileSync(join(root, 'tsconfig.json'), 'utf8'));
    for (const name of ['pg', 'uuidv7', 'jest-like']) {
      write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'index.js' }));
      write(`node_modules/${name}/index.js`, 'exports.x = 1;\n');
    }
    for (const [file, text] of Object.entries(sound)) write(file, text);
    for (const [, file, text] of broken) write(file, (sound[file] ?? '') + text);
    const run = spawnSync(process.execPath, [cruiser, '--config', config, '-T', 'json', 'apps', 'libs', 'test'], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    const result = JSON.parse(run.stdout) as { summary: { violations: Violation[] } };
    violations = result.summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`);
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it('fire where a rule is broken, and nowhere else', () => {
    const expected = broken.map(([rule, file]) => `${rule}: ${file}`);
    expect([...new Set(violations)].sort()).toEqual([...new Set(expected)].sort());
  });

  it('have each a case that breaks them', () => {
    const rules = createRequire(import.meta.url)(config) as { forbidden: { name: string }[] };
    const names = rules.forbidden.map(({ name }) => name);
    expect([...new Set(broken.map(([rule]) => rule))].sort()).toEqual([...names].sort());
  });
});
