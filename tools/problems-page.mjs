// Writes docs/reference/problems.md from the problem registry. Needs a build (`npm run build`) of what it reads.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { problemsPage } from '../dist/libs/contracts/problems-page.js';

const page = fileURLToPath(new URL('../docs/reference/problems.md', import.meta.url));
mkdirSync(dirname(page), { recursive: true });
writeFileSync(page, problemsPage());
