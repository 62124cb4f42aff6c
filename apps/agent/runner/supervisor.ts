/**
 * Runs the task and writes how it ended, so that an agent that was away can still learn it. It outlives the signals that
 * end the task (they go to all its processes), and its own `times` give the CPU time of every descendant that was waited
 * for. It marks itself, and so all its children, by a limit that binds nobody (see `limitMark`).
 *
 * The task itself gets a largest size of a file, leaves no core dump, and is what the kernel ends first when the machine runs
 * out of memory: before the supervisor, the agent and all that is not a task.
 *
 * Where there is a control group the task enters it before anything of it runs; the supervisor stays outside, so that it can
 * tell of a task whose whole group was ended.
 *
 * Arguments: the exit file, the mark in KiB, the largest file in blocks of 512 bytes or nothing, the file that lets into
 * the group or nothing, then the command.
 */
export const SUPERVISOR = `trap : HUP INT QUIT TERM
exit_file=$1
largest=$3
group=$4
ulimit -m "$2" 2>/dev/null
shift 4
(
  [ -z "$group" ] || echo 0 > "$group" || exit 125
  ulimit -S -c 0 2>/dev/null
  [ -z "$largest" ] || ulimit -f "$largest"
  { echo 500 > /proc/self/oom_score_adj; } 2>/dev/null
  exec "$@"
)
code=$?
{ echo "$code"; times; } > "$exit_file.tmp" && mv "$exit_file.tmp" "$exit_file"
exit 0`;

/** How the task ended. `code` above 128 is a signal as shells count it; `cpuSeconds` of the task and its children. */
export interface ExitRecord {
  readonly code: number;
  readonly cpuSeconds: number;
}

const seconds = (text: string | undefined): number => {
  const match = /^(\d+)m([\d.]+)s$/.exec(text ?? '');
  return match ? Number(match[1]) * 60 + Number(match[2]) : 0;
};

/** Parses the exit file: the status, the shell's own times, its children's times. */
export const parseExit = (text: string): ExitRecord | undefined => {
  const [status, , children] = text.split('\n');
  if (status === undefined || !/^\d+$/.test(status)) return undefined;
  const [user, system] = (children ?? '').split(' ');
  return { code: Number(status), cpuSeconds: seconds(user) + seconds(system) };
};
