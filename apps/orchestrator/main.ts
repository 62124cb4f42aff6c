import { ConfigInvalid, readConfig } from './config/config.js';

/* The control plane as a process: configuration from the environment, one JSON line on stdout when it serves. */

const fail = (error: unknown): never => {
  const cause = error instanceof Error ? error.message : String(error);
  process.stderr.write(`escalon orchestrator: ${cause}\n`);
  if (!(error instanceof ConfigInvalid) && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
  process.exit(1);
};

/**
 * *Starting*: it listens, for health, and being told to stop ends it as soon as what is open is closed.
 * *Serving*: it stops in order, and a second word changes nothing. With `--exit-with-parent` the end of stdin is such a
 * word, for then whoever started the process is gone.
 */
const main = async (): Promise<void> => {
  const config = readConfig(process.env);
  let stop = (): void => process.exit(0);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop());
  if (process.argv.includes('--exit-with-parent')) {
    for (const gone of ['end', 'error']) process.stdin.resume().once(gone, () => stop());
  }
  // After the configuration was found right and the signals are heard: loading the rest takes its time.
  const { startOrchestrator } = await import('./server.js');
  const orchestrator = await startOrchestrator(config, fail);
  let stopping: Promise<void> | undefined;
  stop = () => {
    stopping ??= orchestrator.stop();
    stopping.then(() => process.exit(0), fail);
  };
  await orchestrator.ready;
  if (stopping) return;
  process.stdout.write(`${JSON.stringify({ ready: true, url: orchestrator.url, port: orchestrator.port })}\n`);
};

main().catch(fail);
