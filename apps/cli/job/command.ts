import { Option } from 'commander';
import { openSession } from '../client/session.js';
import { durationArgument, repeatable } from './arguments.js';
import { addReadingVerbs } from './reading-command.js';
import { changeJob } from './change.js';
import { plan } from './plan.js';
import { rerun } from './rerun.js';
import { submit } from './submit.js';
import { waitForAll } from './wait.js';
import type { Command } from 'commander';
import type { Io } from '../io.js';
import type { RerunFlags } from './rerun.js';
import type { SubmitFlags } from './submit.js';
import type { WaitFlags } from './wait.js';

export const addJob = (program: Command, io: Io): void => {
  const job = program
    .command('job')
    .summary('submit jobs, and see what becomes of them')
    .description('Works with jobs.');
  addSubmit(job, io);
  addPlan(job, io);
  addWait(job, io);
  addChanges(job, io);
  addRerun(job, io);
  addReadingVerbs(job, io);
};

const timeout = (): Option =>
  new Option('--timeout <duration>', 'wait at most so long, such as 30s or 2h; exit code 124 then').argParser(
    durationArgument,
  );

const addSubmit = (job: Command, io: Io): void => {
  job
    .command('submit')
    .argument('<file...>', 'job files, YAML or JSON')
    .summary('submit jobs; prints their ids')
    .description(
      'Submits job files and prints the ids. Inputs that are files here are stored first. Every mistake is listed, and\n' +
        'nothing is submitted when one can be seen from here.\n\n' +
        'A file may have several jobs: documents with --- between them, or a list under jobs. They wait for each other,\n' +
        'and take what others leave behind, by "#name"; then all of them are submitted, or none. Of others the server\n' +
        'takes each that is right, and the mistakes of the rest are listed.',
    )
    .option('--wait', 'wait for the end, telling what happens; the exit code is the result')
    .option('--follow', 'the same as --wait')
    .addOption(timeout())
    .option('--idempotency-key <key>', 'the same key and job again give the same id')
    .option('--set <path=value>', 'change each job before it is sent; may be repeated', repeatable, [])
    .addHelpText(
      'after',
      '\nExample:\n  escalon job submit examples/primes/job.yaml --set priority=80 --wait\n  escalon job submit examples/diamond/jobs.yaml --wait',
    )
    .action(async (files: string[], _flags, command: Command) =>
      submit(files, await openSession<SubmitFlags>(command, io)),
    );
};

const addPlan = (job: Command, io: Io): void => {
  job
    .command('plan')
    .argument('<file...>', 'job files, YAML or JSON')
    .summary('what would happen to a job now')
    .description(
      'Asks the scheduler what it would decide now, with every reason, and what would help when it finds no node. Nothing is\n' +
        'stored, no input either. Exit code 5 when a job can never be placed as things are.',
    )
    .option('--set <path=value>', 'change the job before it is sent; may be repeated', repeatable, [])
    .addHelpText('after', '\nExample:\n  escalon job plan examples/primes/job.yaml --set resources.cpu=64')
    .action(async (files: string[], _flags, command: Command) => plan(files, await openSession(command, io)));
};

const addRerun = (job: Command, io: Io): void => {
  job
    .command('rerun')
    .argument('<id>', 'a job that has ended')
    .summary('run an ended job again, as a new job; prints its id')
    .description('Submits the file of an ended job again, changed if asked, as a new job that names the old one.')
    .option('--set <path=value>', 'change the file before; may be repeated, null takes a field out', repeatable, [])
    .option('--wait', 'wait for the end, telling what happens; the exit code is the result')
    .addOption(timeout())
    .option('--idempotency-key <key>', 'the same key and changes again give the same id')
    .addHelpText('after', '\nExample:\n  escalon job rerun 0198… --set resources.memory=8GiB --wait')
    .action(async (id: string, _flags, command: Command) => rerun(id, await openSession<RerunFlags>(command, io)));
};

const addWait = (job: Command, io: Io): void => {
  job
    .command('wait')
    .argument('<id...>', 'jobs')
    .summary('wait for the end of jobs, or until a service runs')
    .description(
      'Tells what happens to jobs until they end, failed or not; the exit code is the result. A service or daemon does not end ' +
        'by itself: for one that runs, all of it, the code is 0. Code 5 when no node can ever run a job.',
    )
    .addOption(timeout())
    .addHelpText('after', '\nExample:\n  escalon job wait 0198… --timeout 10m')
    .action(async (ids: string[], _flags, command: Command) =>
      waitForAll(ids, await openSession<WaitFlags>(command, io)),
    );
};

/** Verbs that change a job: one POST each. */
const addChanges = (job: Command, io: Io): void => {
  const verb = (name: 'cancel' | 'pause' | 'resume', summary: string, reason: 'required' | 'none'): void => {
    const command = job.command(name).argument('<id>', 'the job').summary(summary).description(`${summary}.`);
    if (reason === 'required') command.requiredOption('--reason <text>', 'why (required); it is recorded');
    const example = `escalon job ${name} 0198…${reason === 'required' ? ' --reason "wrong input"' : ''}`;
    command.addHelpText('after', `\nExample:\n  ${example}`);
    command.action(async (id: string, _flags, at: Command) => changeJob(id, name, await openSession(at, io)));
  };
  verb('cancel', 'Cancel a job; what runs is stopped on its node', 'required');
  verb('pause', 'Hold a job: nothing new starts, what runs is stopped in place', 'required');
  verb('resume', 'Let a held job go on', 'none');
};
