import { openSession } from '../client/session.js';
import { limitOption, wholeArgument } from './arguments.js';
import { showLogs } from './logs.js';
import { explainJob, listJobs, showHistory, showJob, showResults } from './reading.js';
import type { Command } from 'commander';
import type { JobFilter } from '#contracts';
import type { Io } from '../io.js';
import type { LogFlags } from './logs.js';
import type { HistoryFlags } from './reading.js';

/** The verbs that only look. */
export const addReadingVerbs = (job: Command, io: Io): void => {
  addList(job, io);
  addShow(job, io);
  addExplain(job, io);
  addLogs(job, io);
  addResults(job, io);
};

const addList = (job: Command, io: Io): void => {
  const list = job.command('list').summary('jobs, newest first').description('Lists jobs, newest first.');
  const filters = {
    state: 'blocked, queued, reserved, running, paused, completed, failed or cancelled',
    project: 'of this project',
    node: 'that run or ran there',
    name: 'with exactly this name',
    type: 'batch, ops, service or daemon',
    since: 'submitted at or after this time',
  };
  for (const [name, what] of Object.entries(filters)) list.option(`--${name} <${name}>`, what);
  list
    .addOption(limitOption())
    .addHelpText('after', '\nExample:\n  escalon job list --state failed --output jsonl')
    .action(async (_flags, command: Command) =>
      listJobs(await openSession<JobFilter & { limit: number }>(command, io)),
    );
};

const addShow = (job: Command, io: Io): void => {
  job
    .command('show')
    .argument('<id>', 'the job')
    .summary('one job as it is now')
    .description('Shows one job as it is now.')
    .addHelpText('after', '\nExample:\n  escalon job show 0198… --output json')
    .action(async (id: string, _flags, command: Command) => showJob(id, await openSession(command, io)));
  job
    .command('history')
    .argument('<id>', 'the job')
    .summary('everything that happened to a job')
    .description('Lists everything that happened to a job, oldest first.')
    .option('--execution <id>', 'only what happened to this try')
    .option('--type <event>', 'only events of this type, such as ExecutionFailed')
    .option('--limit <n>', 'how many at most', wholeArgument(1))
    .addHelpText('after', '\nExample:\n  escalon job history 0198… --type ExecutionFailed')
    .action(async (id: string, _flags, command: Command) =>
      showHistory(id, await openSession<HistoryFlags>(command, io)),
    );
};

const addExplain = (job: Command, io: Io): void => {
  job
    .command('explain')
    .argument('<id>', 'the job')
    .summary('why there, why not elsewhere, why still waiting')
    .description('Explains a decision of the job with every reason; the last one unless another is named.')
    .option('--node <node>', 'why not on this node')
    .option('--decision <number>', 'which decision, from 1', wholeArgument(1))
    .addHelpText('after', '\nExample:\n  escalon job explain 0198… --node lab-3')
    .action(async (id: string, _flags, command: Command) => explainJob(id, await openSession(command, io)));
};

const addLogs = (job: Command, io: Io): void => {
  job
    .command('logs')
    .argument('<id>', 'the job')
    .summary('what the task wrote')
    .description('Prints what the task wrote.')
    .option('-f, --follow', 'go on until the task ends')
    .option('--tail <lines>', 'only the last lines', wholeArgument(0))
    .option('--execution <id>', 'of this try (default: of all, one after the other)')
    .addHelpText('after', '\nExample:\n  escalon job logs 0198… -f --tail 20')
    .action(async (id: string, _flags, command: Command) => showLogs(id, await openSession<LogFlags>(command, io)));
};

const addResults = (job: Command, io: Io): void => {
  job
    .command('results')
    .argument('<id>', 'the job')
    .summary('what a job left behind')
    .description(
      'Lists what each try left behind; can bring the files here, verified. Of a job with several partitions each has a\n' +
        'folder of its own, 0, 1 and so on; so has each failed or stopped try, below failed.',
    )
    .option('--download <folder>', 'bring the artifacts of the successful tries here')
    .option('--failed', 'with --download, also those of failed and stopped tries')
    .addHelpText('after', '\nExample:\n  escalon job results 0198… --download out')
    .action(async (id: string, _flags, command: Command) => showResults(id, await openSession(command, io)));
};
