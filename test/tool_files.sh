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
# --- lists

themis chmod 0644 themis:/t/a.txt themis:/t/sub/b.h5 themis:/t/sub/empty
check "ls -R" prints "themis:/t:
a.txt
sub/

themis:/t/sub:
b.h5
deep/
empty

themis:/t/sub/deep:
c.txt" themis ls -R themis:/t
themis ls -lh themis:/t/sub >"$T/long"
check "ls -l has modes, and sizes with -h" grep -qE '^-rw-r--r-- +[^ ]+ +[^ ]+ +2.86M .* b.h5$' "$T/long"
check "and marks directories" grep -qE '^drwx.* deep$' "$T/long"
check "and names owners" grep -qE "^-rw-r--r-- +$(id -un) +$(id -gn) +0 .* empty$" "$T/long"
check "-n has their numbers" sh -c 'themis ls -n themis:/t/sub | grep -qE "^-rw-r--r-- +$(id -u) +$(id -g) +3000000 .* b.h5$"'
check "its columns are aligned" [ "$(themis ls -l themis:/t/sub | sed 's/\(.*:[0-9][0-9]\) [^ ]*$/\1/' | awk '{ print length }' | sort -u | wc -l)" = 1 ]
check "-S: the largest first" prints "b.h5
empty" sh -c 'themis ls -S themis:/t/sub | grep -v deep'
check "-r: in reverse order" prints "sub/
a.txt" themis ls -r themis:/t
check "--json -R tells the directories" json '[.[] | select(.name == "c.txt")] == [.[] | select(.directory == "themis:/t/sub/deep")]' \
    themis ls --json -R themis:/t
check "integers are integers" json '.[0].uid | type == "number"' themis ls --json themis:/t
check "without a fraction" sh -c '! themis top --once --json | grep -E "(bytes|per_s|jobs|queued|requests)\": [0-9]+\.[0-9]"'
check "and there are some" json '.servers | length == 2 and all(.capacity_bytes > 1000000)' themis top --once --json
if command -v script >/dev/null; then
    script -qec "stty cols 40; TERM=xterm timeout 20 themis ls themis:/t/sub" /dev/null </dev/null >"$T/columns" 2>&1
    check "on a terminal: columns, and directories in colour" grep -q "b.h5   .*$(printf '\033')\[1;34mdeep$(printf '\033')\[0m/ .*empty" "$T/columns"
    script -qec "stty cols 40; NO_COLOR=1 TERM=xterm timeout 20 themis ls -1 themis:/t/sub" /dev/null </dev/null >"$T/columns" 2>&1
    check "-1 and NO_COLOR: neither" sh -c '! grep -q "\[1;34m\|h5 " "$1/columns" && grep -q "^deep/" "$1/columns"' sh "$T"
    themis mkdir -p "$(printf 'themis:/esc/\033[2Jx')"
    script -qec "NO_COLOR=1 timeout 20 themis ls themis:/esc" /dev/null </dev/null >"$T/columns" 2>&1
    check "control characters of a name do not reach the terminal" grep -q '?\[2Jx/' "$T/columns"
    themis rm -r themis:/esc
else
    skip "on a terminal" "no script"
fi

# --- patterns

themis mkdir themis:/p themis:/p/one themis:/p/two themis:/p/.hidden
for f in one/x.h5 one/y.h5 two/x.h5 two/z.nc .hidden/x.h5 "one/q[1]"; do themis cp "$T/t/a.txt" "themis:/p/$f"; done
check "a pattern stands for what matches" prints "/p/one/x.h5
/p/one/y.h5
/p/two/x.h5" sh -c "themis stat 'themis:/p/*/*.h5' | grep ^/"
check "with the servers named, too" prints "/p/two/z.nc" sh -c "themis stat 'themis://$THEMIS_SERVERS/p/t*/?.nc' | grep ^/"
check "in the middle of a path" prints "/p/one/x.h5
/p/two/x.h5" sh -c "themis stat 'themis:/p/*/x.h5' | grep ^/"
check "a dot is matched by a dot" prints "/p/.hidden/x.h5" sh -c "themis stat 'themis:/p/.h*/x.h5' | grep ^/"
check "a name with brackets that exists is meant itself" prints "/p/one/q[1]" sh -c "themis stat 'themis:/p/one/q[1]' | grep ^/"
check "what matches nothing is named as it is" refused 1 '/p/\*.none' themis stat 'themis:/p/*.none'
check "cp takes patterns" themis cp 'themis:/p/one/*.h5' "$T"
check "and copies all of them" cmp "$T/x.h5" "$T/y.h5"
check "a new name with brackets is no pattern" themis cp "$T/x.h5" 'themis:/p/new[2]'
check "rm takes patterns" themis rm 'themis:/p/*/x.h5' 'themis:/p/new[[]*'
check "and removes no other" prints "q[1]
y.h5" themis ls themis:/p/one
check "ls takes patterns" prints "themis:/p/one:
q[1]
y.h5

themis:/p/two:
z.nc" themis ls 'themis:/p/*'

# --- help

themis ls --help >"$T/help"
check "help VERB" prints "$(cat "$T/help")" themis help ls
check "help of what there is not" refused 2 "no command 'no-such'" themis help no-such
check "help lists the commands" prints "$(themis --help)" themis help
check "-V" prints "$(themis --version)" themis -V
check "-h of chmod is help" prints "$(themis help chmod)" themis chmod -h
finish
