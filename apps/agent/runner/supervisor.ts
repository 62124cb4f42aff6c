import { MARKED_VARIABLE } from './task-mark.js';

/**
 * Runs the task and writes how it ended, so that an agent that was away can still learn it. It outlives the signals that
 * end the task (they go to all its processes), and its own `times` give the CPU time of every descendant that was waited
 * for. It marks itself, and so all its children, by a limit that binds nobody (see `limitMark`).
 *
 * What the task writes goes through two pipes to two keepers (see `LOG_KEEPER`), each in a session of its own and without the
 * mark, so that they outlive what is sent to the task. The supervisor ends after them: when it is gone, the log is whole.
 *
 * The task itself gets a largest size of a file, leaves no core dump, and is what the kernel ends first when the machine runs
 * out of memory: before the supervisor, the agent and all that is not a task.
 *
 * Where there is a control group the task enters it before anything of it runs; the supervisor stays outside, so that it can
 * tell of a task whose whole group was ended.
 *
 * The program that runs a container gets no mark: it hands all it has down to what outlives the task.
 *
 * Arguments: the exit file, the mark in KiB or nothing, the largest file in blocks of 512 bytes or nothing, the file that lets into
 * the group or nothing, the files for standard output and error, the keeper's script and its four sizes, then the command.
 */
export const SUPERVISOR = `trap : HUP INT QUIT TERM
exit_file=$1
mark=$2
largest=$3
group=$4
out=$5
err=$6
mkfifo -m 622 "$out.pipe" "$err.pipe" || exit 125
exec 9<> "$out.pipe" 5< "$out.pipe" 3> "$out.pipe" 9>&-
exec 9<> "$err.pipe" 6< "$err.pipe" 4> "$err.pipe" 9>&-
rm -f "$out.pipe" "$err.pipe"
keep() {
  ${MARKED_VARIABLE}=
  exec setsid /bin/sh -c "$2" escalon-log "$1" "$3" "$4" "$5" "$6" > /dev/null 3>&- 4>&- 5>&- 6>&-
}
keep "$out" "$7" "$8" "$9" "\${10}" "\${11}" <&5 &
keep "$err" "$7" "$8" "$9" "\${10}" "\${11}" <&6 &
exec 5<&- 6<&-
shift 11
[ -z "$mark" ] || ulimit -m "$mark" 2>/dev/null
(
  [ -z "$group" ] || echo 0 > "$group" || exit 125
  ulimit -S -c 0 2>/dev/null
  [ -z "$largest" ] || ulimit -f "$largest"
  { echo 500 > /proc/self/oom_score_adj; } 2>/dev/null
  exec "$@"
) >&3 2>&4 3>&- 4>&-
code=$?
exec 3>&- 4>&-
{ echo "$code"; times; } > "$exit_file.tmp" && mv "$exit_file.tmp" "$exit_file"
until wait; do :; done
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
