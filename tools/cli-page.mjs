// Writes docs/reference/cli.md from the commands' own help. Run after a build.
import { writeFileSync } from 'node:fs';
import { processIo } from '../dist/apps/cli/io.js';
import { referencePage } from '../dist/apps/cli/reference.js';

writeFileSync('docs/reference/cli.md', referencePage(processIo()));
