# shellcheck shell=sh
# Stays on a host beside a worker: sh supervise DIRECTORY START_SECONDS. It outlives the connection.
# It starts the worker once DIRECTORY/arguments is there, or gives up after START_SECONDS. It starts
# a worker anew that was killed, so that this one restores the settings that a phase has changed.
# The worker itself ends when it has had no controller for the time that its arguments state. Then
# everything in DIRECTORY is removed, and DIRECTORY, too.
#
# SIGTERM ends the worker and removes everything. DIRECTORY/left says what could not be done.
set -u
umask 077
dir=$1
start_seconds=$2
# From SIGTERM to SIGKILL. A worker ends within 5 s, whatever its threads do.
grace_seconds=20
max_restarts=3
worker=''
stopping=''

nap() { sleep 0.2 2> /dev/null || sleep 1; }

is_alive() { [ -n "$worker" ] && kill -0 "$worker" 2> /dev/null; }

start_worker() {
  set --
  while IFS= read -r argument; do set -- "$@" "$argument"; done < "$dir/arguments"
  "$dir/program/bin/lockstep-worker" "$@" < /dev/null >> "$dir/worker.log" 2>&1 &
  worker=$!
  echo "$worker" > "$dir/worker.pid"
}

# Returns the worker's exit status. A signal to this process interrupts wait(1).
await_worker() {
  while :; do
    wait "$worker"
    status=$?
    [ -z "$stopping" ] || end_worker
    is_alive || return "$status"
  done
}

end_worker() {
  kill -TERM "$worker" 2> /dev/null
  end=$(($(date +%s) + grace_seconds))
  while is_alive && [ "$(date +%s)" -lt "$end" ]; do nap; done
  is_alive || return 0
  kill -KILL "$worker" 2> /dev/null
  end=$(($(date +%s) + 5))
  while is_alive && [ "$(date +%s)" -lt "$end" ]; do nap; done
  is_alive || return 0
  # Nobody can end a process whose I/O the kernel does not complete.
  echo "process $worker waits for I/O and cannot be ended; its files are removed when it ends" \
    > "$dir/left"
  while is_alive; do sleep 5; done
  rm -f "$dir/left"
}

# Settings that a worker which was killed has left changed.
restore_settings() {
  [ -e "$dir/state/settings.json" ] || return 0
  "$dir/program/bin/lockstep-worker" --restore-settings --state-dir "$dir/state" \
    < /dev/null >> "$dir/worker.log" 2>&1 && return 0
  {
    echo "settings that a phase has changed are not restored; $dir/state/settings.json lists them:"
    tail -n 3 "$dir/worker.log"
  } > "$dir/left"
  return 1
}

main() {
  trap '' HUP
  trap 'stopping=1' TERM INT
  echo $$ > "$dir/supervisor.pid"
  end=$(($(date +%s) + start_seconds))
  until [ -e "$dir/arguments" ] || [ -n "$stopping" ] || [ "$(date +%s)" -ge "$end" ]; do
    [ -d "$dir" ] || return 0
    nap
  done
  restarts=0
  while [ -e "$dir/arguments" ] && [ -z "$stopping" ]; do
    start_worker
    await_worker
    status=$?
    [ -z "$stopping" ] || break
    # One that ends by itself has been refused, or has had no controller for too long.
    [ "$status" -gt 128 ] || break
    restarts=$((restarts + 1))
    echo "the worker was killed by signal $((status - 128))" >> "$dir/worker.log"
    [ "$restarts" -le "$max_restarts" ] || break
  done
  if [ -e "$dir/arguments" ] && [ -z "$stopping" ] && [ "$status" -ne 0 ]; then
    # The command that has just started it asks why.
    echo "$status" > "$dir/ended"
    end=$(($(date +%s) + 10))
    until [ -n "$stopping" ] || [ "$(date +%s)" -ge "$end" ]; do nap; done
  fi
  restore_settings || return 1
  cd / && rm -rf "$dir"
}

# The shell has read all of this file before main removes it.
main
exit
