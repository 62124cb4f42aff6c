import type { Command } from 'commander';
import type { Io } from '../io.js';
import type { SimulateFlags } from './options.js';

export const addSimulate = (program: Command, io: Io): void => {
  program
    .command('simulate')
    .summary('run the real placement on a trace')
    .description(
      'Runs a trace through the real placement in virtual time, here and without a server, and tells what share of the GPUs was\n' +
        'allocated, how long jobs waited, how many were never placed and why. Traces are comma-separated in the published openb\n' +
        'format. Nodes: sn, cpu_milli, memory_mib, gpu, model. Jobs: name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec\n' +
        '(models, A|B), qos, pod_phase, creation_time, deletion_time (seconds), scheduled_time; of both, only the first three\n' +
        'must be there.',
    )
    .requiredOption('--nodes <file>', 'the machines')
    .requiredOption('--jobs <file>', 'the jobs')
    .option('--profile <profile>', 'weigh every job by this profile (default: as its estimate suggests)')
    .option('--weights <weights>', 'or by these: resources=40,reliability=20,availability=20,queue=10,cost=10')
    .option('--seed <number>', 'of the order that --inflate draws', '42')
    .option('--arrivals-only', 'one job after another; none ever leaves or is asked about again')
    .option(
      '--inflate <ratio>',
      'draw the order of the jobs, then more of them until they ask for so many times the GPUs',
    )
    .option('--json <file>', 'write the summary there too')
    .addHelpText(
      'after',
      '\nExample:\n  escalon simulate --nodes nodes.csv --jobs jobs.csv --arrivals-only --inflate 1.3 --profile gpu',
    )
    .action(async (_flags, command: Command) => {
      // Loaded here: the other verbs need no placement.
      const { runSimulation } = await import('./run.js');
      await runSimulation(command.optsWithGlobals<SimulateFlags>(), io);
    });
};
