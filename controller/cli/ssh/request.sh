# shellcheck shell=sh
# Runs on a host, in a session of its own. Has the worker make its key, which stays here, and prints
# the request for a certificate of it.
#
# Standard input: the token, the worker's directory and the request's challenge, a line each. Each
# line of the answer begins with the token.
set -u
umask 077

say() { printf '%s %s\n' "$token" "$*"; }

IFS= read -r token && IFS= read -r dir && IFS= read -r challenge || exit 1
# The challenge, too, is no argument of a process: printf is the shell's own.
if ! request=$(printf '%s\n' "$challenge" |
  "$dir/program/bin/lockstep-worker" --request-certificate "$dir/tls" 2> "$dir/request.log"); then
  say "failed the worker cannot request a certificate: $(tail -n 1 "$dir/request.log" 2>&1)"
  exit 1
fi
printf '%s\n' "$request" | while IFS= read -r line; do say "csr $line"; done
say requested
