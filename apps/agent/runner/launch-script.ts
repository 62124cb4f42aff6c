/** Variables that a shell keeps for itself: it would refuse or reinterpret their export, so `env` sets them. */
const SHELLS_OWN: ReadonlySet<string> = new Set([
  ...['UID', 'EUID', 'PPID', 'GROUPS', 'SHELLOPTS', 'BASHOPTS', 'BASHPID', 'BASH_VERSINFO', 'DIRSTACK', 'FUNCNAME'],
  ...['OPTIND', 'LINENO', 'RANDOM', 'SRANDOM', 'SECONDS', 'EPOCHSECONDS', 'HISTCMD', 'IFS', '_'],
]);

/**
 * The script that becomes the task: it takes on the task's environment and replaces itself by the program in its arguments. Until
 * then, in the supervisor and in what gives up privilege, nothing of the job's environment is in force: a `LD_PRELOAD` would
 * else run there.
 */
export const launchScript = (environment: Readonly<Record<string, string>>): string => {
  const entries = Object.entries(environment).map(([name, value]) => [name, quoted(value)] as const);
  const exports = entries.filter(([name]) => !SHELLS_OWN.has(name)).map(([name, value]) => `export ${name}=${value}\n`);
  const others = entries.filter(([name]) => SHELLS_OWN.has(name)).map(([name, value]) => `${name}=${value} `);
  return `${exports.join('')}exec ${others.length > 0 ? `/usr/bin/env ${others.join('')}` : ''}"$@"\n`;
};

/** As one word of a shell, whatever is in it; a NUL, which no environment can hold, is left out. */
const quoted = (text: string): string => `'${text.replaceAll('\0', '').replaceAll("'", String.raw`'\''`)}'`;
