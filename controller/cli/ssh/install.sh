# shellcheck shell=sh
# Runs on a host, as the first session of a connection. Copies the worker into a directory of its
# own, leaves a supervisor there, and stays until that has ended: the session is the link.
#
# Standard input: the token, the directory to use (or nothing), the space in KiB, how long the
# supervisor waits for its start, the paths that jobs may use and the supervisor (each with a count
# of lines before it), and the archive (.tar.gz) to the end. Each line of the answer begins with the
# token, because a host's own start-up files may print, too.
set -u
umask 077

say() { printf '%s %s\n' "$token" "$*"; }

fail() {
  say "failed $*"
  exit 1
}

# The reasons against each directory, in the order in which they were tried.
why=''
note() {
  why="$why${why:+; }$*"
  return 1
}

# Whether the directory lies in one that jobs may use: its I/O would be part of what is measured.
is_under_test() {
  while IFS= read -r path; do
    case $path in
      / | '') ;;
      /*) case $1/ in "$path"/*) return 0 ;; esac ;;
    esac
  done << END
$allowed
END
  return 1
}

# Whether another user than root could replace a directory that this user makes in $1. The owner of
# a directory on the way can rename what is in it, and so can all who may write to it. The programs
# of the worker's directory are started more than once.
is_others() {
  at=$1
  while :; do
    facts=$(ls -ldn "$at/." 2> /dev/null) || return 0
    read -r mode _ owner group _ << END
$facts
END
    case $owner in 0 | "$user") ;; *) return 0 ;; esac
    case $mode in
      ????????w[!tT]*) return 0 ;;
      # A group of the user's own name has nobody else in it. Directories are often writable to it.
      ?????w???[!tT]*) [ "$group" = 0 ] || [ "$group" = "$own_group" ] || return 0 ;;
    esac
    [ "$at" != / ] || return 1
    at=${at%/*}
    at=${at:-/}
  done
}

# Makes the worker's directory in $1, or notes why not.
try() {
  where=$(cd -P -- "$1" 2> /dev/null && pwd) || {
    note "$1 is not there"
    return 1
  }
  [ "$where" != / ] || return 1
  # The worker's loader takes blanks and ':' in its own path for separators, and '$' for a variable.
  # ssh takes ':', brackets and backslashes in the socket's path for something else.
  case $where in
    *["][ 	:;\$\\"]*)
      note "$where has a character that its loader or ssh would misread"
      return 1
      ;;
  esac
  if [ ! -w "$where" ]; then note "$where may not be written to"; return 1; fi
  if is_others "$where"; then
    note "$at can be changed by other users, who could replace the worker"
    return 1
  fi
  if is_under_test "$where"; then note "$where is under test (--allow)"; return 1; fi
  kind=$(stat -f -c %T "$where" 2> /dev/null)
  case $kind in
    nfs* | cifs | smb* | afs | ceph | coda | fuse* | gfs* | glusterfs | gpfs | lustre | ocfs2 | \
      panfs | v9fs | 9p | vboxsf | ncp | novell | acfs)
      note "$where is not on a local disk ($kind)"
      return 1
      ;;
  esac
  free=$(df -Pk "$where" 2> /dev/null |
    sed -n '$s/.* \([0-9][0-9]*\)  *[0-9][0-9]*% .*/\1/p')
  if [ "${free:-$need_kib}" -lt "$need_kib" ]; then
    note "$where has $((free / 1024)) MiB of the $((need_kib / 1024)) MiB that are needed"
    return 1
  fi
  # The token is random: nobody else can have made it, as with mktemp -d, and this user finds the
  # directory again also after an answer that was lost.
  new=$where/lockstep-fleet.$token
  if ! mkdir -m 700 "$new" 2> /dev/null; then note "$where takes no directory"; return 1; fi
  printf '#!/bin/sh\nexit 0\n' > "$new/test" && chmod 700 "$new/test"
  if ! "$new/test" 2> /dev/null; then
    rm -rf "$new"
    note "$where is mounted noexec, or full"
    return 1
  fi
  rm -f "$new/test"
  dir=$new
}

IFS= read -r token && IFS= read -r wanted && IFS= read -r need_kib && IFS= read -r start_seconds &&
  IFS= read -r count || exit 1
allowed=''
while [ "$count" -gt 0 ]; do
  IFS= read -r line || exit 1
  allowed="$allowed$line
"
  count=$((count - 1))
done

case $(uname -s -m) in
  'Linux x86_64') ;;
  *) fail "the worker runs on Linux on x86-64, and this is $(uname -s -m)" ;;
esac
for tool in tar gzip df id ls sed mkdir chmod rm mv; do
  command -v "$tool" > /dev/null 2>&1 || fail "$tool is not installed here"
done
user=$(id -u)
own_group=none
# Containers may have users without a name.
[ "$(id -un 2> /dev/null)" != "$(id -gn 2> /dev/null)" ] || own_group=$(id -g)

dir=''
if [ -n "$wanted" ]; then
  try "$wanted" || fail "$why"
else
  for place in "${TMPDIR:-/tmp}" /tmp /var/tmp "${HOME:-/tmp}" /dev/shm; do
    case "; $why" in *"; $place "*) continue ;; esac
    try "$place" && break
  done
  [ -n "$dir" ] || fail "no directory can have the worker: $why"
fi
# From here to the supervisor, a connection that is lost leaves nothing.
trap 'cd /; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM PIPE

IFS= read -r count || exit 1
while [ "$count" -gt 0 ]; do
  IFS= read -r line || exit 1
  printf '%s\n' "$line"
  count=$((count - 1))
done > "$dir/supervise" || fail "$dir cannot be written to"
said=$({ gzip -dc | tar -xf - -C "$dir"; } 2>&1) ||
  fail "the worker cannot be unpacked in $dir: $(printf '%s' "$said" | sed -n 1p)"
mv "$dir"/lockstep-*/ "$dir/program" 2> /dev/null || fail "the archive has no worker"
version=$("$dir/program/bin/lockstep-worker" --version 2>&1) ||
  fail "the worker does not run here: $version"
say "version $version"

start=''
command -v setsid > /dev/null 2>&1 && start=setsid
$start sh "$dir/supervise" "$dir" "$start_seconds" < /dev/null > "$dir/supervise.log" 2>&1 &
supervisor=$!
trap - EXIT
# It removes what is here from now on.
say "directory $dir"
wait "$supervisor"
say ended
