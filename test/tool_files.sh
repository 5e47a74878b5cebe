#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command themis for files on servers: modes and owners, lists, sizes, searches, ends of files, patterns.
# timeout: 200
. "$(dirname "$0")/lib/testlib.sh"
umask 022

themis() { timeout -k 5 60 themis "$@"; }

# refused STATUS WORDS COMMAND...: it ends with that status and says these words.
refused() {
    wanted=$1 words=$2 got=0
    shift 2
    "$@" </dev/null >"$T/out" 2>"$T/err" || got=$?
    [ "$got" = "$wanted" ] && grep -q -e "$words" "$T/err" && return 0
    echo "status $got"
    cat "$T/out" "$T/err"
    return 1
}

# prints LINES COMMAND...: it succeeds, with this output.
prints() {
    lines=$1
    shift
    "$@" </dev/null >"$T/out" 2>"$T/err" && [ "$(cat "$T/out")" = "$lines" ] && return 0
    cat "$T/out" "$T/err"
    return 1
}

# json FILTER COMMAND...: the output is JSON for which the filter of jq holds.
json() {
    filter=$1
    shift
    "$@" </dev/null >"$T/out" 2>"$T/err" && jq -e "$filter" "$T/out" && return 0
    cat "$T/out" "$T/err"
    return 1
}

# mode PATH, owner PATH: of a file on the servers.
mode() { themis stat --json "$1" | jq -r '.[0].mode' | xargs printf '%o\n'; }
owner() { themis stat --json "$1" | jq -r '.[0] | "\(.uid):\(.gid)"'; }

start_servers 2
mkdir -p "$T/t/sub/deep"
printf 'one\ntwo\nthree\n' >"$T/t/a.txt"
head -c 3000000 /dev/urandom >"$T/t/sub/b.h5"
echo deep >"$T/t/sub/deep/c.txt"
: >"$T/t/sub/empty"
themis cp -r "$T/t" themis:/ || exit 1

# --- modes

# as_chmod START MODE: the mode becomes what chmod of this host makes of it.
as_chmod() {
    : >"$T/local" && chmod "$1" "$T/local" && chmod "$2" "$T/local" || return 1
    themis chmod "$1" themis:/t/a.txt && themis chmod "$2" themis:/t/a.txt || return 1
    [ "$(mode themis:/t/a.txt)" = "$(stat -c %a "$T/local")" ] && return 0
    echo "$(mode themis:/t/a.txt), not $(stat -c %a "$T/local")"
    return 1
}
for words in "0600 0755" "0600 644" "0644 u+x" "0755 go-rx" "0644 a=rwx" "0640 g=u" "0644 +x" "0777 =rw" "0644 +X" "0744 a+X" \
    "0644 u+s,g+s" "0644 +t" "0777 o=" "0600 ug+rw,o+r-w" "0000 =" "0755 -x" "0755 u-x+w,g=o"; do
    check "chmod of ${words% *} with ${words#* }" as_chmod "${words% *}" "${words#* }"
done
for wrong in 0888 u u+q 10000 u+x, "" 07x; do
    check "chmod '$wrong' is refused" refused 2 "is not a mode" themis chmod "$wrong" themis:/t/a.txt
done
themis chmod 0644 themis:/t/a.txt
check "chmod of what is not there" refused 1 "/none" themis chmod 0644 themis:/none
check "chmod -R" themis chmod -R u=rwX,go=rX themis:/t
check "directories have x" [ "$(mode themis:/t/sub/deep)" = 755 ]
check "files do not" [ "$(mode themis:/t/sub/deep/c.txt)" = 644 ]
check "chmod without -R changes the directory only" themis chmod 0700 themis:/t/sub
check "what is in it is as before" [ "$(mode themis:/t/sub/deep)" = 755 ]
check "chmod of the root directory" themis chmod 1777 themis:/
check "which has it then" [ "$(mode themis:/)" = 1777 ]
themis chmod 0777 themis:/ && themis chmod 0755 themis:/t/sub

# --- owners

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 0755 "$T"
    nobody=$(id -g nobody)
    # as_user COMMAND...: as user nobody, who is in no other group; the path of the program is resolved before.
    as_user() {
        program=$(command -v "$1")
        shift
        timeout -k 5 60 setpriv --reuid=nobody --regid="$nobody" --clear-groups env HOME=/ "$program" "$@"
    }
    unset -f themis
    check "chown by name" themis chown nobody themis:/t/a.txt
    check "it is the user's" [ "$(owner themis:/t/a.txt)" = "$(id -u nobody):0" ]
    check "chown by number, with the group" themis chown 1234:5678 themis:/t/a.txt
    check "both are set" [ "$(owner themis:/t/a.txt)" = 1234:5678 ]
    check "chown of the group" themis chown :0 themis:/t/a.txt
    check "leaves the user" [ "$(owner themis:/t/a.txt)" = 1234:0 ]
    check "chown to a user's group" themis chown nobody: themis:/t/a.txt
    check "is that of the user database" [ "$(owner themis:/t/a.txt)" = "$(id -u nobody):$nobody" ]
    check "no such user" refused 2 "no user no-such-user" themis chown no-such-user themis:/t/a.txt
    check "no such group" refused 2 "no group no-such-group" themis chown nobody:no-such-group themis:/t/a.txt
    check "the owner may change the mode" as_user themis chmod 0600 themis:/t/a.txt
    check "another may not" refused 1 "/t/sub/b.h5" as_user themis chmod 0666 themis:/t/sub/b.h5
    check "nor give away what is his" refused 1 "/t/a.txt" as_user themis chown 0 themis:/t/a.txt
    check "nor give it to a group that he is not in" refused 1 "/t/a.txt" as_user themis chown :0 themis:/t/a.txt
    check "nor take what is another's" refused 1 "/t/sub/empty" as_user themis chown nobody themis:/t/sub/empty
    check "nothing of that was done" [ "$(owner themis:/t/a.txt) $(owner themis:/t/sub/empty)" = "$(id -u nobody):$nobody 0:0" ]
    themis chmod 0700 themis:/t/sub/deep
    check "-R goes on where one is refused" refused 1 "/t/sub" as_user themis chmod -R u+x themis:/t
    check "and changes the others" [ "$(mode themis:/t/a.txt)" = 700 ]
    check "chown -R" themis chown -R nobody themis:/t
    check "down to the last file" [ "$(owner themis:/t/sub/deep/c.txt) $(owner themis:/t)" = "$(id -u nobody):0 $(id -u nobody):0" ]
    themis chown -R 0:0 themis:/t
    themis() { timeout -k 5 60 themis "$@"; }
else
    skip "owners" "not root, or no setpriv"
fi
finish
