import { writeNew } from './files.js';
import { recordAll } from './histories.js';

/*
 * Records the histories that have no file yet: `node dist/test/histories/record.js`, after a build, from the repository's
 * root. Files that exist stay as they are for ever: they stand for what is stored out there. A fold that reads one of them
 * differently is a fault of the fold; only a state that was wrong from the start is corrected, by hand and with a reason.
 */
for (const [name, lines] of Object.entries(recordAll())) {
  console.log(`${writeNew(name, lines) ? 'recorded' : 'kept    '} ${name}`);
}
