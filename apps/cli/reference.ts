import { createProgram } from './program.js';
import type { Command } from 'commander';
import type { Io } from './io.js';

/** docs/reference/cli.md, from the same help that `--help` prints. */
export const referencePage = (io: Io): string => {
  const program = createProgram(io);
  const verbs = [...leaves(program, '')].map(({ path, command }) => section(path, command));
  return `${HEAD}\n\n\`\`\`text\n${helpOf(program)}\n\`\`\`\n\n${verbs.join('\n')}`;
};

const HEAD = `# Command line

\`npx escalon …\` in the checkout. Data goes to standard output and everything else to standard error; \`--output json\` is the REST
shape. This page is written from the commands' own help by \`tools/cli-page.mjs\`;
the options of \`escalon agent\` are in [agent.md](agent.md).

| exit code | meaning                                                                                            |
| --------- | -------------------------------------------------------------------------------------------------- |
| 0         | done; with \`--wait\`, the job completed                                                             |
| 1         | the tool or the server failed                                                                      |
| 2         | usage: the command line or the job file is wrong                                                   |
| 3         | the job failed                                                                                     |
| 4         | the job was cancelled                                                                              |
| 5         | the job can never be placed as things are: each node is ruled out until it or the job changes      |
| 124       | \`--timeout\` is over; the job goes on                                                               |

Where to call and as whom: \`--url\`, else \`ESCALON_URL\`, else what \`escalon up\` wrote into the data folder, else
\`http://127.0.0.1:8080\`. \`--token\`, else \`ESCALON_TOKEN\`, else \`admin.token\` in the data folder. The data folder: \`--data\`, else
\`ESCALON_DATA\`, else \`.escalon\` here.`;

function* leaves(command: Command, path: string): Generator<{ path: string; command: Command }> {
  for (const inner of command.commands) {
    const name = `${path} ${inner.name()}`.trim();
    if (inner.commands.length > 0) yield* leaves(inner, name);
    // The agent reads its own options; docs/reference/agent.md lists them.
    else if (name !== 'agent') yield { path: name, command: inner };
  }
}

const section = (path: string, command: Command): string => `## ${path}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`;

const COLUMNS = 100;

/** The help as it is printed, with what is added after it. */
const helpOf = (command: Command): string => {
  let text = '';
  command.configureOutput({ writeOut: (more) => void (text += more), getOutHelpWidth: () => COLUMNS });
  command.outputHelp();
  return text.trimEnd();
};
