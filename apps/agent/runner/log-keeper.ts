/**
 * Keeps what comes through a pipe in files that do not grow without end, whether an agent looks on or not: the first part in
 * the file itself, and of what follows the newest in pieces `FILE.OFFSET` beside it, named by where in the whole they begin. Of
 * those there are two full ones and one that grows; older ones go, so a gap between the file's end and the first piece is
 * what was dropped. A writer that is quicker than the disk has to wait, as at any pipe.
 *
 * It is a shell that starts one `dd` after the other, as everything else there is either holds back what it has read (`head`,
 * `awk`), takes more than it keeps, or is too large to stand beside every task. It ends with the last writer. When the disk
 * takes no more it goes on reading, for the task is not to stand still for its log's sake.
 *
 * Where a task is run more than once in one folder, each keeper goes on where the one before it has ended.
 *
 * Arguments: the file, then in bytes: of the first part, of one piece at least, of one turn of `dd` among the pieces, of one read.
 */
export const LOG_KEEPER = `trap '' HUP INT QUIT TERM
umask 077
LC_ALL=C
export LC_ALL
file=$1 head=$2 piece=$3 turn=$4 block=$5
count_of() {
  taken=\${1:-no}
  case $taken in
    *[!0-9]*) exec cat > /dev/null ;;
  esac
}
take() {
  count=$(($1 / block)) size=$block
  [ "$count" -gt 0 ] || { count=1; size=$1; }
  [ "$count" -le 256 ] || count=256
  said=$(dd bs="$size" count="$count" 2>&1 >> "$2")
  count_of \${said##*records out}
  [ "$taken" -gt 0 ] || exit 0
}
at=0 had=0 last=0 middle=0 first=0 newest= older=
[ ! -f "$file" ] || at=$(($(wc -c < "$file")))
for each in "$file".*; do
  begin=\${each##*.}
  case $begin in
    *[!0-9]*) continue ;;
  esac
  if [ "$begin" -gt "$last" ]; then first=$middle middle=$last last=$begin
  elif [ "$begin" -gt "$middle" ]; then first=$middle middle=$begin
  else first=$begin
  fi
done
[ "$first" -eq 0 ] || older=$file.$first
[ "$middle" -eq 0 ] || newest=$file.$middle
[ "$last" -eq 0 ] || at=$last had=$(($(wc -c < "$file.$last")))
while [ "$at" -lt "$head" ]; do
  take $((head - at)) "$file"
  at=$((at + taken))
done
while :; do
  now=$file.$at
  while [ "$had" -lt "$piece" ]; do
    take "$turn" "$now"
    had=$((had + taken))
  done
  at=$((at + had)) had=0
  [ -z "$older" ] || rm -f "$older"
  older=$newest newest=$now
done`;

/** All that a pipe holds. */
const LARGEST_READ = 65_536;

/** The smallest limit in bytes that can be divided. */
export const LEAST_LOG = 65_536;

/** What a keeper is told so that of one stream never more than `limit` bytes are on disk. */
export const keeperSizes = (limit: number): readonly string[] => {
  // A piece has at least a turn, and less than two: three of them have less than the second half of the limit.
  const turn = Math.floor(limit / 12);
  return [Math.floor(limit / 2), turn, turn, Math.min(LARGEST_READ, Math.floor(turn / 8))].map(String);
};
