import { processIo } from './io.js';
import { run } from './program.js';

// Started through the wrapper in bin/: when that is killed, end as if asked to.
if (process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

process.exitCode = await run(process.argv.slice(2), processIo());
