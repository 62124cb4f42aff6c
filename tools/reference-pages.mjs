// Writes the reference pages that follow from tables in the code. Needs a build (`npm run build`) of what it reads.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { metricsPage } from '../dist/apps/orchestrator/system/metrics-page.js';
import { problemsPage } from '../dist/libs/contracts/problems-page.js';
import { reasonsPage } from '../dist/libs/placement/filters/reasons-page.js';

const write = (name, page) => writeFileSync(fileURLToPath(new URL(`../docs/reference/${name}`, import.meta.url)), page);
write('metrics.md', metricsPage());
write('problems.md', problemsPage());
write('reasons.md', reasonsPage());
