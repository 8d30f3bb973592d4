# shellcheck shell=sh
# Runs on a host, in a session of its own. Gives the worker its certificate, if it has made a key,
# and the supervisor the worker's arguments. Waits until the worker is attached to the controller.
#
# Standard input: the token, the worker's directory and how many seconds to wait, a line each. Then
# the worker's certificate, that of its authority, and the worker's arguments, each with a count of
# lines before it. Without a key both certificates have no line.
set -u
umask 077

say() { printf '%s %s\n' "$token" "$*"; }

# Writes the next lines of standard input to $1.
take() {
  IFS= read -r count || exit 1
  while [ "$count" -gt 0 ]; do
    IFS= read -r line || exit 1
    printf '%s\n' "$line"
    count=$((count - 1))
  done > "$1"
}

IFS= read -r token && IFS= read -r dir && IFS= read -r seconds || exit 1
take "$dir/cert.pem"
take "$dir/ca.pem"
take "$dir/arguments.new"
if [ ! -d "$dir/tls" ]; then
  rm -f "$dir/cert.pem" "$dir/ca.pem"
elif ! mv "$dir/cert.pem" "$dir/ca.pem" "$dir/tls/"; then
  say "failed $dir/tls cannot be written to"
  exit 1
fi
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
