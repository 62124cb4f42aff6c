import { ConfigInvalid, readConfig } from './config/config.js';
import { startOrchestrator } from './server.js';

/* The control plane as a process: configuration from the environment, one JSON line on stdout when it serves. */

const fail = (error: unknown): never => {
  const cause = error instanceof Error ? error.message : String(error);
  process.stderr.write(`escalon orchestrator: ${cause}\n`);
  if (!(error instanceof ConfigInvalid) && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
  process.exit(1);
};

const main = async (): Promise<void> => {
  const config = readConfig(process.env);
  const orchestrator = await startOrchestrator(config, fail);
  let stopping: Promise<void> | undefined;
  const stop = (): void => {
    stopping ??= orchestrator.stop();
    stopping.then(() => process.exit(0), fail);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  if (process.argv.includes('--exit-with-parent')) {
    process.stdin.resume();
    process.stdin.once('end', stop);
    process.stdin.once('error', stop);
  }
  process.stdout.write(`${JSON.stringify({ ready: true, url: orchestrator.url, port: orchestrator.port })}\n`);
};

main().catch(fail);
