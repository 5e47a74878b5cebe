#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command themis for files on servers: modes and owners, lists, sizes, searches, ends of files, patterns.
# timeout: 200
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
umask 022

themis() { timeout -k 5 60 themis "$@"; }

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
    themis mkdir themis:/m && themis chmod 0777 themis:/m
    for mode in 0755 0711 0700; do
        themis mkdir "themis:/m/d$mode" && themis cp "$T/t/a.txt" "themis:/m/d$mode/f" && themis chmod $mode "themis:/m/d$mode"
        check "mv of a directory of mode $mode, of another user, is refused" refused 1 "/m/d$mode" as_user themis mv "themis:/m/d$mode" themis:/m/taken
        check "and leaves no empty directory" refused 1 "/m/taken" themis stat themis:/m/taken
        check "what could not be moved is there" themis stat "themis:/m/d$mode/f"
    done
    themis mkdir themis:/m/there && themis chmod 0777 themis:/m/there && as_user themis mkdir themis:/m/there/d0755
    check "nor where an empty one was to be replaced" refused 1 "/m/d0755" as_user themis mv themis:/m/d0755 themis:/m/there
    check "which stays" prints "d0755/" themis ls themis:/m/there
    themis rm -r themis:/m
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
check "policy --json" json 'length == 2 and all(.policy == "job-fair" and .draw == "stride")' themis policy --json
check "policy explain --json" json 'all(.tree | test("job-fair"))' themis policy explain --json
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
check "nor is what cp writes to" themis cp "$T/x.h5" 'themis:/p/two/z.n?'
check "so another file stays as it was" themis stat 'themis:/p/two/z.n?' themis:/p/two/z.nc
check "brackets alone are no pattern" refused 1 '/p/one/y\[.\]h5' themis rm 'themis:/p/one/y[.]h5'
themis rm 'themis:/p/two/z.n?'
themis cp "$T/x.h5" themis:/p/one.h5
check "a slash at the end matches directories only" prints "/p/one
/p/two" sh -c "themis stat 'themis:/p/[ot]*/' | grep ^/"
themis rm themis:/p/one.h5
check "without servers there is an error" refused 1 'ls: ' env THEMIS_SERVERS=127.0.0.1:1 THEMIS_TIMEOUT=1s themis ls 'themis:/*'
check "rm takes patterns" themis rm 'themis:/p/*/x.h5' 'themis:/p/new[[]*'
check "and removes no other" prints "q[1]
y.h5" themis ls themis:/p/one
check "ls takes patterns" prints "themis:/p/one:
q[1]
y.h5

themis:/p/two:
z.nc" themis ls 'themis:/p/*'

latin=$(printf 'themis:/p/caf\351')
themis mkdir "$latin"
check "a name that is not UTF-8 is in the JSON as well" json '[.[] | select(.name == "caf\ufffd")] | length == 1' themis ls --json themis:/p
check "and in that of find" json 'length == 1' themis find themis:/p -name 'caf*' --json
themis rmdir "$latin"

# --- find: what GNU find says of the same tree

# as_find WORDS...: both list the same paths.
as_find() {
    (cd "$T" && find t "$@") | sort >"$T/wanted" && themis find themis:/t "$@" | sed 's|^themis:/||' | sort >"$T/found" &&
        diff "$T/wanted" "$T/found" && [ -s "$T/wanted" ]
}
head -c 1024 /dev/zero >"$T/t/sub/kib" && head -c 1025 /dev/zero >"$T/t/sub/kib+1" && mkdir "$T/t/hollow"
themis cp "$T/t/sub/kib" "$T/t/sub/kib+1" themis:/t/sub && themis mkdir themis:/t/hollow
check "find of everything" as_find
check "by name" as_find -name '*.txt'
check "the root of the search, too" as_find -name t
check "in upper or lower case" as_find -iname 'B.*'
check "not by name" as_find ! -name '*.txt' -type f
check "directories" as_find -type d
check "by size in KiB, rounded up" as_find -type f -size 1k
check "larger" as_find -type f -size +1k
check "smaller" as_find -type f -size -2k
check "in bytes" as_find -type f -size 1025c
check "in MiB" as_find -type f -size 3M
check "in blocks" as_find -type f -size 2
check "to a depth" as_find -maxdepth 1
check "from a depth" as_find -mindepth 2 -not -type d
check "empty ones" as_find -empty
check "of today" as_find -mtime 0 -type f
check "of the last hour" as_find -mmin -60 -type f
check "of an owner" as_find -user "$(id -un)"
check "none is a day old" prints "" themis find themis:/t -mtime +0
sleep 0.1 && themis cp "$T/t/a.txt" themis:/t/newest
check "newer than another file" prints themis:/t/newest themis find themis:/t -newer themis:/t/sub/kib+1 -type f
touch -d '1 hour ago' "$T/reference"
check "newer than a file of this host" sh -c 'themis find themis:/t -type f -newer "$1" | grep -c . | grep -qx 7' sh "$T/reference"
themis rm themis:/t/newest
check "-print0 for xargs" prints 3 sh -c "themis find themis:/t -type d -mindepth 1 -print0 | tr -cd '\\000' | wc -c | tr -d ' '"
check "by path" prints themis:/t/sub/deep/c.txt themis find themis:/ -path '*/deep/*'
check "which may begin as it is printed" prints themis:/t/sub/deep/c.txt themis find themis:/ -path 'themis:/t/*/deep/*'
check "as JSON" json 'length == 1 and .[0].size_bytes == 3000000' themis find themis:/t -name b.h5 --json
check "a slash at the end of the root is not doubled" prints themis:/t/a.txt themis find themis:/t/ -name a.txt
check "the root directory" prints themis:/t/a.txt themis find themis: -name a.txt
for wrong in "-size 1x" "-size k" "-mtime x" "-type p" "-maxdepth -1" "-nothing" "-name" "!" "-user no-such-user" "-size 99999999999999999999c"; do
    # shellcheck disable=SC2086 # words of an expression
    check "find $wrong is a wrong usage" refused 2 "themis find: " themis find themis:/t $wrong
done
check "what is not there" refused 1 "/none" themis find themis:/none

# --- du and df

check "du -b adds up" prints "$((14 + 3000000 + 5 + 1024 + 1025))	themis:/t" themis du -sb themis:/t
check "du tells every directory, the inner ones first" prints "5	themis:/t/sub/deep
3002054	themis:/t/sub
0	themis:/t/hollow" sh -c 'themis du -b themis:/t | sort -k2r | grep t/'
check "down to a depth" prints "themis:/t/hollow
themis:/t/sub
themis:/t" sh -c 'themis du -b -d 1 themis:/t | cut -f2'
check "-a: files, too" sh -c 'themis du -ab themis:/t | grep -qx "1025	themis:/t/sub/kib+1"'
check "-c: with a sum" sh -c 'themis du -bsc themis:/t/sub themis:/t/a.txt | grep -qx "3002068	total"'
allocated=$(themis stat --json themis:/t/sub/b.h5 | jq '.[0].allocated_bytes')
check "the space that is taken, in KiB" prints "$(((allocated + 1023) / 1024))	themis:/t/sub/b.h5" themis du themis:/t/sub/b.h5
check "with a unit" sh -c 'themis du -hb themis:/t/sub/b.h5 | grep -q "^2.86M"'
check "as JSON" json '.[0] == {path: "themis:/t", size_bytes: 3002068}' themis du -sb --json themis:/t
check "du of what is not there" refused 1 "/none" themis du themis:/none
check "df has a line for each server, and a sum" [ "$(themis df | wc -l)" = 4 ]
check "as JSON, in integers" json 'length == 2 and all(.capacity_bytes > .used_bytes and .store == "arena") and (map(.used_bytes) | add) >= 3000000' \
    themis df --json
check "the free space is what is not used" sh -c 'themis df | awk "NR > 1 { n++; bad += \$(NF - 3) - \$(NF - 2) - \$(NF - 1) > 1 } END { exit n != 3 || bad }"'
check "df -h" sh -c 'themis df -h | grep -q "^total  *2.00G .*%"'

# --- tail

seq 1 200000 >"$T/lines" && printf unfinished >>"$T/lines"
themis cp "$T/lines" themis:/lines
# as_tail WORDS...: both write the same.
as_tail() {
    tail "$@" "$T/lines" >"$T/wanted" && themis tail "$@" themis:/lines >"$T/found" && cmp "$T/wanted" "$T/found"
}
for words in "-n 10" "-n 1" "-n 0" "-n 150000" "-n 999999" "-n +1" "-n +199999" "-n +150001" "-n +999999" "-c 1" "-c 100000" "-c +1288000" "-c 0" \
    "-c +0" "-c 99999999"; do
    # shellcheck disable=SC2086 # words of a command
    check "tail $words" as_tail $words
done
check "tail without a number" as_tail
check "tail -3" as_tail -3
seq 1 100 >"$T/lines" && themis cp "$T/lines" themis:/lines
check "a newline at the end ends the last line" as_tail -n 2
check "of several files, with their names" prints "==> themis:/lines <==
100

==> themis:/t/a.txt <==
three" themis tail -n 1 themis:/lines themis:/t/a.txt
check "of an empty file" prints "" themis tail themis:/t/sub/empty
check "of a directory" refused 1 "directory" themis tail themis:/t
check "a wrong number" refused 2 "expected a number" themis tail -n x themis:/lines
unset -f themis
spawn timeout 60 themis tail -n 1 -f themis:/lines >"$T/followed" 2>"$T/follow.err"
# await_line LINE: it is in what tail -f has written, within 10 s.
await_line() {
    for _ in $(seq 100); do
        grep -qx "$1" "$T/followed" && return 0
        sleep 0.1
    done
    cat "$T/followed" "$T/follow.err"
    return 1
}
check "tail -f begins as tail" await_line 100
# In place: the target stays the same file where it may not be replaced.
cat >"$T/append.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <themis/themis.h>
int main(int argc, char **argv)
{
    themis_t *session;
    themis_file_t *file;
    themis_stat_t stat;
    size_t done;

    if (argc < 2 || themis_connect(NULL, &session) != THEMIS_OK ||
        themis_open(session, "/lines", THEMIS_OPEN_WRITE, 0, NULL, &file) != THEMIS_OK)
        return 1;
    if (strcmp(argv[1], "cut") == 0 ? themis_truncate(file, 2) != THEMIS_OK
                                    : themis_file_stat(file, &stat) != THEMIS_OK ||
                                          themis_write(file, argv[1], strlen(argv[1]), stat.size, &done) != THEMIS_OK)
        return 1;
    themis_close(file);
    themis_disconnect(session);
    return 0;
}
END
if ${CC:-gcc} -o "$T/append" "$T/append.c" -I"$THEMIS_PREFIX/include" -L"$THEMIS_PREFIX/lib" -lthemis -Wl,-rpath,"$THEMIS_PREFIX/lib" 2>"$T/cc"; then
    check "a line is added" limit 20 "$T/append" "101
"
    check "tail -f writes it" await_line 101
    check "the file is cut" limit 20 "$T/append" cut
    check "which tail -f says" sh -c 'for _ in $(seq 100); do grep -q "was truncated" "$1" && exit 0; sleep 0.1; done; exit 1' sh "$T/follow.err"
else
    skip "tail -f of a file that grows" "no compiler"
fi
end_pids $testlib_spawned
testlib_spawned=
themis() { timeout -k 5 60 themis "$@"; }

# --- help

themis periodic --help >"$T/help"
check "periodic plan --help" prints "$(cat "$T/help")" themis periodic plan --help
themis ls --help >"$T/help"
check "help VERB" prints "$(cat "$T/help")" themis help ls
check "help of what there is not" refused 2 "no command 'no-such'" themis help no-such
check "help lists the commands" prints "$(themis --help)" themis help
check "-V" prints "$(themis --version)" themis -V
check "-h of chmod is help" prints "$(themis help chmod)" themis chmod -h
finish
