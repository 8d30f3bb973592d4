# shellcheck shell=sh
# Runs on a host, in a session of its own. Gives the supervisor the worker's arguments, and waits
# until the worker is attached to the controller.
#
# Standard input: the token, the worker's directory, how many seconds to wait, a count, and that
# many arguments, a line each.
set -u
umask 077

say() { printf '%s %s\n' "$token" "$*"; }

IFS= read -r token && IFS= read -r dir && IFS= read -r seconds && IFS= read -r count || exit 1
while [ "$count" -gt 0 ]; do
  IFS= read -r line || exit 1
  printf '%s\n' "$line"
  count=$((count - 1))
done > "$dir/arguments.new"
# The supervisor sees all arguments or none.
if ! mv "$dir/arguments.new" "$dir/arguments"; then
  say "failed $dir cannot be written to"
  exit 1
fi

end=$(($(date +%s) + seconds))
while [ "$(date +%s)" -lt "$end" ]; do
  if grep -q 'attached to the controller' "$dir/worker.log" 2> /dev/null; then
    say started
    exit 0
  fi
  if [ -e "$dir/ended" ] || [ ! -d "$dir" ]; then break; fi
  sleep 0.2 2> /dev/null || sleep 1
done
say "failed the worker did not attach to the controller: $(tail -n 1 "$dir/worker.log" 2>&1)"
exit 1
