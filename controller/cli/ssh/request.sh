# shellcheck shell=sh
# Runs on a host, in a session of its own. Has the worker make its key, which stays here, and prints
# the request for a certificate of it.
#
# Standard input: the token, the worker's directory, the request's challenge, and the name of the
# key's directory in the worker's, a line each: tls, or tls.new beside a key that is in use. Each
# line of the answer begins with the token.
set -u
umask 077

say() { printf '%s %s\n' "$token" "$*"; }

IFS= read -r token && IFS= read -r dir && IFS= read -r challenge && IFS= read -r keys || exit 1
# An earlier renewal that was not completed has left its key.
if [ "$keys" = tls.new ]; then rm -rf "$dir/tls.new"; fi
# The challenge, too, is no argument of a process: printf is the shell's own.
if ! request=$(printf '%s\n' "$challenge" |
  "$dir/program/bin/lockstep-worker" --request-certificate "$dir/$keys" 2> "$dir/request.log"); then
  say "failed the worker cannot request a certificate: $(tail -n 1 "$dir/request.log" 2>&1)"
  exit 1
fi
printf '%s\n' "$request" | while IFS= read -r line; do say "csr $line"; done
say requested
