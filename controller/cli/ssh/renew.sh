# shellcheck shell=sh
# Runs on a host, in a session of its own. Gives the worker the certificate of the key in tls.new,
# which request.sh has had it make, instead of the key and the certificate in tls. The worker reads
# the files whenever it connects to the controller.
#
# Standard input: the token and the worker's directory, a line each; how many lines the certificate
# has, and these lines.
set -u
umask 077

say() { printf '%s %s\n' "$token" "$*"; }

IFS= read -r token && IFS= read -r dir && IFS= read -r count || exit 1
# A renewal that was killed between its two steps.
if [ ! -d "$dir/tls" ] && [ -d "$dir/tls.old" ]; then mv "$dir/tls.old" "$dir/tls"; fi
rm -rf "$dir/tls.old"
if [ ! -e "$dir/tls.new/key.pem" ]; then
  say "failed the worker has not made a key for a new certificate"
  exit 1
fi
while [ "$count" -gt 0 ]; do
  IFS= read -r line || exit 1
  printf '%s\n' "$line"
  count=$((count - 1))
done > "$dir/tls.new/cert.pem"
if ! cp "$dir/tls/ca.pem" "$dir/tls.new/ca.pem"; then
  say "failed $dir/tls.new cannot be written to"
  exit 1
fi
# A worker that connects between these steps finds no files: it goes on with those that it has read,
# and reads them again at its next connection.
if ! mv "$dir/tls" "$dir/tls.old"; then
  say "failed $dir cannot be written to"
  exit 1
fi
if ! mv "$dir/tls.new" "$dir/tls"; then
  mv "$dir/tls.old" "$dir/tls"
  say "failed $dir/tls cannot be replaced"
  exit 1
fi
rm -rf "$dir/tls.old"
say renewed
