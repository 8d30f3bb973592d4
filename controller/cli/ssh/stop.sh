# shellcheck shell=sh
# Runs on a host. Ends a worker with its supervisor, and waits until its files are gone. Does the
# supervisor's work itself where somebody has killed that.
#
# Standard input: the token, the worker's directory (or nothing where it is not known), how many
# seconds to wait, a count, and that many paths that jobs could use, a line each.
set -u
umask 077

say() { printf '%s %s\n' "$token" "$*"; }

# Whether the process whose number is in file $1 still is one of this directory's: the kernel gives
# numbers again.
is_ours() {
  pid=$(cat "$1" 2> /dev/null) && [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null || return 1
  [ -r "/proc/$pid/cmdline" ] || return 0
  tr '\0' '\n' < "/proc/$pid/cmdline" 2> /dev/null | grep -qF "$dir/"
}

find_directory() {
  [ -z "$dir" ] || return 0
  for place in "${TMPDIR:-/tmp}" /tmp /var/tmp "${HOME:-/tmp}" /dev/shm; do
    [ ! -d "$place/lockstep-fleet.$token" ] || dir=$place/lockstep-fleet.$token
  done
}

wait_until() { # wait_until SECONDS COMMAND…
  end=$(($(date +%s) + $1))
  shift
  until "$@"; do
    [ "$(date +%s)" -lt "$end" ] || return 1
    sleep 0.2 2> /dev/null || sleep 1
  done
}
is_gone() { [ ! -e "$dir" ]; }
is_worker_over() { ! is_ours "$dir/worker.pid"; }
is_finder_over() { ! kill -0 "$finder" 2> /dev/null; }

# Files of jobs are not removed. Each has its mark beside it. A large tree, or a file server that is
# away, costs 10 s and no more: the worker is gone by then, and the caller must learn of it.
list_targets() {
  list_end=$(($(date +%s) + 10))
  for path; do
    # A text without a leading '/' is a device's identity, and could be an option of find(1).
    case $path in
      /*) ;;
      *) continue ;;
    esac
    left=$((list_end - $(date +%s)))
    [ "$left" -gt 0 ] || return 0
    {
      find "$path" -xdev -type f -name '*.lockstep' 2> /dev/null < /dev/null &
      finder=$!
      wait_until "$left" is_finder_over || kill -KILL "$finder" 2> /dev/null
      echo .
    } | {
      listed=0
      # A line is the end, and not that of the pipe: a process that hangs keeps the pipe open.
      while IFS= read -r mark && [ "$mark" != . ]; do
        [ "$listed" -ge 20 ] || say "target ${mark%.lockstep}"
        listed=$((listed + 1))
      done
    }
  done
}

# The work of the supervisor, in case it has ended.
clean_up() {
  if is_ours "$dir/worker.pid"; then
    kill -TERM "$pid"
    wait_until 10 is_worker_over || kill -KILL "$pid"
    wait_until 5 is_worker_over || {
      echo "process $pid waits for I/O and cannot be ended" > "$dir/left"
      return
    }
  fi
  if [ -e "$dir/state/settings.json" ]; then
    "$dir/program/bin/lockstep-worker" --restore-settings --state-dir "$dir/state" \
      < /dev/null > "$dir/left" 2>&1 || return
  fi
  cd / && rm -rf "$dir"
}

IFS= read -r token && IFS= read -r dir && IFS= read -r seconds && IFS= read -r count || exit 1
set --
while [ "$count" -gt 0 ]; do
  IFS= read -r line || exit 1
  set -- "$@" "$line"
  count=$((count - 1))
done
case $token in '' | *[!0-9a-f]*) exit 1 ;; esac
find_directory
# Nothing else is ever removed here, whatever the caller's records say.
case $dir in
  '') ;;
  /*/lockstep-fleet."$token" | /lockstep-fleet."$token") ;;
  *) say "failed $dir is no directory of a fleet"; exit 1 ;;
esac
if [ -z "$dir" ] || [ ! -d "$dir" ] || [ -h "$dir" ]; then
  say 'gone'
  list_targets "$@"
  exit 0
fi
# Others could have made one of that name since, for this user to start their program.
if [ -z "$(find "$dir" -prune -user "$(id -u)" -perm 700)" ]; then
  say "failed $dir is no longer this user's own directory"
  exit 1
fi
if is_ours "$dir/supervisor.pid"; then
  kill -TERM "$pid"
else
  clean_up
fi
is_over() { is_gone || [ -s "$dir/left" ]; }
wait_until "$seconds" is_over
if is_gone; then
  say removed
  list_targets "$@"
else
  say "left $dir: $(tr '\n' ' ' < "$dir/left" 2> /dev/null)"
fi
