# shellcheck shell=sh
# Runs on a host, in a session of its own. Has the worker's doctor check the host with the flags
# that the worker is to get, and prints its report.
#
# Standard input: the token, the worker's directory, how many seconds the doctor may take, how many
# bytes its report may have, a line each, and the flags, with a count of lines before them. The
# answer is a line: the token with "report" and the report, or with "unanswered" and the reason.
set -u
umask 077

say() { printf '%s %s\n' "$token" "$*"; }

unanswered() {
  say "unanswered $*"
  exit 0
}

IFS= read -r token && IFS= read -r dir && IFS= read -r seconds && IFS= read -r most &&
  IFS= read -r count || exit 1
set --
while [ "$count" -gt 0 ]; do
  IFS= read -r line || exit 1
  set -- "$@" "$line"
  count=$((count - 1))
done

rm -f "$dir/doctor.status"
# The doctor is not waited for: one that hangs in the kernel cannot even be killed. It has files as
# its outputs, because a pipe that it kept open would keep the session open.
{
  "$dir/program/bin/lockstep-worker" --doctor=host --doctor-json "$@" &
  echo "$!" > "$dir/doctor.pid"
  wait "$!"
  echo "$?" > "$dir/doctor.status"
} < /dev/null > "$dir/doctor.json" 2> "$dir/doctor.log" &
waiting=$!
end=$(($(date +%s) + seconds))
until [ -s "$dir/doctor.status" ]; do
  # On a full disk the file stays empty. It may have been written just before the shell ended.
  if ! kill -0 "$waiting" 2> /dev/null; then
    [ -s "$dir/doctor.status" ] || unanswered "cannot write to $dir"
    break
  fi
  if [ "$(date +%s)" -gt "$end" ]; then
    # The waiting shell is killed first, so that it writes nothing while the directory is removed.
    kill -KILL "$waiting" "$(cat "$dir/doctor.pid")" 2> /dev/null
    unanswered "it takes longer than $seconds s"
  fi
  sleep 0.2 2> /dev/null || sleep 1
done
status=$(cat "$dir/doctor.status")
# 1 are warnings and 2 are problems, also of the worker's flags: then there is no report.
if [ "$status" -gt 2 ] || [ ! -s "$dir/doctor.json" ]; then
  unanswered "it ended with status $status: $(tail -n 1 "$dir/doctor.log" 2>&1)"
fi
size=$(wc -c < "$dir/doctor.json")
[ "$size" -le "$most" ] || unanswered "its report has more than $most bytes"
# JSON has line breaks between its values alone: in a text they are escaped.
printf '%s report ' "$token"
tr -d '\n' < "$dir/doctor.json"
echo
