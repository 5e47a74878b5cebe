#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# themis cp as GNU cp: each line of the table on this host, to servers and from them; and what remains of a copy that fails.
# timeout: 200
. "$(dirname "$0")/lib/testlib.sh"
start_servers 2

cp_() { timeout -k 5 $((60 * testlib_slower)) themis cp "$@"; }

# says STATUS WORDS ARGUMENT...: cp ends with that status and says these words once; no words: it says nothing.
says() {
    wanted=$1 words=$2 got=0
    shift 2
    cp_ "$@" </dev/null >"$T/out" 2>"$T/err" || got=$?
    [ "$got" = "$wanted" ] && { [ -z "$words" ] && [ ! -s "$T/err" ] || [ "$(grep -c -e "$words" "$T/err")" = 1 ]; } && return 0
    echo "status $got"
    cat "$T/err"
    return 1
}
# holds TEXT PATH: that is the content of a path on this host or on the servers.
holds() {
    case $2 in
    themis:*) found=$(timeout 20 themis cat "$2") ;;
    *) found=$(cat "$2") ;;
    esac
    [ "$found" = "$1" ] && return 0
    echo "$2: $(echo "$found" | head -c 80)"
    return 1
}
# no_rest DIRECTORY: no temporary name is left in it.
no_rest() {
    case $1 in
    themis:*) rest=$(timeout 20 themis ls "$1" | grep themis-cp) ;;
    *) rest=$(find "$1" -name '.themis-cp*') ;;
    esac
    [ -z "$rest" ] && return 0
    echo "left: $rest"
    return 1
}

cd "$T" || exit 1
mkdir local
timeout 20 themis mkdir themis:/d
for there in "$T/local" themis:/d; do
    where=${there%%:*}
    [ "$where" = themis ] || where=local
    echo new >f
    echo old >g
    check "$where: a new file" says 0 "" f "$there/f"
    check "$where: replaces" says 0 "" g "$there/f"
    check "$where: it does" holds old "$there/f"
    check "$where: -n keeps what is there" says 0 "" -n f "$there/f"
    check "$where: it does" holds old "$there/f"
    touch -d '2001-01-01' f
    check "$where: -u keeps what is newer" says 0 "" -u f "$there/f"
    check "$where: it does" holds old "$there/f"
    touch -d '2100-01-01' f
    check "$where: -u replaces what is older" says 0 "" -u f "$there/f"
    check "$where: it does" holds new "$there/f"
    mode_of() {
        case $1 in
        themis:*) printf '%o' "$(timeout 20 themis stat --json "$1" | jq '.[0].mode')" ;;
        *) stat -c %a "$1" ;;
        esac
    }
    created() { (umask 027 && echo x | themis cp - "$there/piped" && themis cp -r private "$there/copied" && umask); }
    mkdir -m 755 private
    echo x >private/file
    chmod 666 private/file
    check "$where: files are created under the umask" created
    check "$where: what comes by a pipe" [ "$(mode_of "$there/piped")" = 640 ]
    check "$where: files of a tree" [ "$(mode_of "$there/copied/file")" = 640 ]
    check "$where: and its directories" [ "$(mode_of "$there/copied")" = 750 ]
    rm -r private
    mkdir -p tree/sub
    echo a >tree/a
    echo b >tree/sub/b
    check "$where: a directory onto a file" says 1 "cannot overwrite non-directory '.*/f' with directory 'tree'" -r tree "$there/f"
    check "$where: a file onto a directory in a tree" sh -c 'themis cp -r tree "$1/clash" && rm tree/a && mkdir tree/a && echo c >tree/a/c' sh "$there"
    check "$where: which is refused" says 1 "cannot overwrite non-directory '.*/clash/a' with directory 'tree/./a'" -r tree/. "$there/clash"
    rm -r tree
    check "$where: two operands with one name" sh -c 'mkdir -p x y && echo 1 >x/same && echo 2 >y/same'
    check "$where: are not copied onto each other" says 1 "will not overwrite just-created '.*/same' with 'y/same'" x/same y/same "$there"
    check "$where: the first is there" holds 1 "$there/same"
    check "$where: a name with a slash at its end" says 1 "not a directory" f "$there/none/"
    check "$where: several operands need a directory" says 1 "is not a directory" f g "$there/f"
    check "$where: from standard input" sh -c 'echo stream | themis cp - "$1/in"' sh "$there"
    check "$where: it is there" holds stream "$there/in"
    check "$where: to standard output" sh -c '[ "$(themis cp "$1/in" -)" = stream ]' sh "$there"
    check "$where: standard input into a directory" says 1 "no name" - "$there"
    check "$where: --verify" says 0 "" --verify f "$there/f"
    check "$where: nothing temporary is left" no_rest "$there"
done

# --- modes, times, links

chmod 640 f
touch -d '2003-02-01 12:00:00.5' f
check "-p on this host" says 0 "" -p f local/p
check "keeps mode and time" sh -c '[ "$(stat -c "%a %y" f)" = "$(stat -c "%a %y" local/p)" ]'
check "-p to servers" says 0 "" -p f themis:/d/p
check "keeps the mode" sh -c 'themis stat themis:/d/p | grep -q 0640'
check "-p from servers" says 0 "" -p themis:/d/p local/q
check "keeps mode and time" sh -c '[ "$(stat -c %a local/q)" = 640 ] && [ $(($(date +%s) - $(stat -c %Y local/q))) -lt 200 ] && touch -d 2001-01-01 local/q && themis cp -p themis:/d/p local/q && [ "$(stat -c %Y local/q)" -gt 1600000000 ]'
mkdir -p times/sub
echo x >times/sub/x
touch -d 2004-01-01 times/sub times
check "-rp keeps the times of directories" sh -c 'themis cp -rp times local/times && [ "$(stat -c %Y times times/sub)" = "$(stat -c %Y local/times local/times/sub)" ]'
chmod 600 local/f
check "what is replaced keeps its mode" sh -c 'themis cp g local/f && [ "$(stat -c %a local/f)" = 600 ]'
ln local/f local/hard
check "and its other names" sh -c 'echo linked >l && themis cp l local/f && [ "$(cat local/hard)" = linked ]'
ln -s f local/soft
check "a symbolic link is written through" sh -c 'themis cp g local/soft && [ -L local/soft ] && [ "$(cat local/f)" = old ]'
ln -s nowhere local/dangling
check "but not one that leads nowhere" says 1 "leads nowhere" g local/dangling
if [ "$(id -u)" != 0 ]; then
    chmod 400 local/q
    check "what may not be written is not replaced" says 1 "Permission denied" f local/q
fi
# Files of root that others may write, replaced by another user.
other() { setpriv --reuid=65534 --regid=65534 --clear-groups timeout -k 5 60 themis cp "$@"; }
written() { other g "$1/f" && holds old "$1/f" && [ "$(stat -c '%u %g %a' "$1/f")" = "0 0 666" ] && no_rest "$1"; }
chmod 711 "$T"
if [ "$(id -u)" = 0 ] && other --help >/dev/null 2>&1; then
    for kind in 755 777 1777; do
        mkdir "mode$kind"
        echo new >"mode$kind/f"
        chmod 666 "mode$kind/f"
        chmod "$kind" "mode$kind"
        check "a writable file of another user in a directory of mode $kind is written and stays theirs" written "mode$kind"
    done
    check "root gives a replacement back" sh -c 'chown 65534:65534 mode777/f && themis cp f mode777/f && [ "$(stat -c "%u %g %a" mode777/f)" = "65534 65534 666" ]'
else
    skip "files of another user" "needs root, and a tool that others can run"
fi
mkdir -p links/sub
echo x >links/x
ln -s x links/soft
ln -s .. links/sub/up
check "links in a tree are copied as links" themis cp -r links themis:/links
check "each" sh -c 'themis ls -l themis:/links | grep " soft -> x$" && themis ls -l themis:/links/sub | grep " up -> \.\.$"'
check "and back" sh -c 'themis cp -r themis:/links linksback && [ "$(readlink linksback/soft linksback/sub/up)" = "x
.." ]'
check "-L follows them, and notices one that leads back" says 1 "links/sub/up leads back to links by a symbolic link" -rL links themis:/followed
check "the other is a file" holds x themis:/followed/soft
check "-P copies an operand as a link, too" sh -c 'themis cp -P links/soft themis:/d/soft && themis stat themis:/d/soft | grep "target  *x$"'
check "-L and -P" says 2 "exclude each other" -L -P f local

# --- trees

# A tree deeper than a recursion with a few kilobytes each would bear, within a path's length.
deep() {
    path=deep
    for _ in $(seq 1900); do path=$path/d; done
    mkdir -p "$path" && echo bottom >"$path/f" && (ulimit -s 256 && cp_ -r deep themis:/deep) && cp_ -r themis:/deep back &&
        [ "$(cat "back${path#deep}/f")" = bottom ]
}
check "a tree of 1,900 directories in each other, with a small stack" deep
mkdir many
for i in $(seq 60); do echo "$i" >"many/$i"; done
check "-j 8" says 0 "" -r -j 8 --verify many themis:/many
check "and back" says 0 "" -r -j 8 --verify themis:/many local/many
check "all of it" diff -r many local/many
check "-j 0" says 2 "from 1 to 64" -j 0 f local

# --- what remains

rm local/hard # a file with several names is written in place
head -c 3000000 /dev/zero | tr '\0' x >big
check "no space: the copy fails" sh -c '! (ulimit -f 1000; trap "" XFSZ; themis cp big local/f) 2>err'
check "says why" grep -q "File too large" err
check "and leaves the target" holds old local/f
check "and nothing else" no_rest local
full() {
    env -u THEMIS_SERVERS timeout 100 themis run -q --size 64m -- sh -c 'head -c 90000000 /dev/urandom >rnd; themis cp g themis:/x; ! themis cp rnd themis:/x && [ "$(themis ls)" = x ] && [ "$(themis cat themis:/x)" = old ]'
}
check "a full server: the old file stays, the new one leaves nothing" full
# interrupted SIGNAL: cp from a FIFO that gives no end.
interrupted() {
    mkfifo "fifo$1"
    (cat big big big; sleep 20) >"fifo$1" &
    feeder=$!
    timeout 30 sh -c 'exec themis cp "$1" "$2"' sh "fifo$1" "$2" &
    pid=$!
    testlib_spawned="$testlib_spawned $pid $feeder"
    sleep 1
    kill "-$1" "$(pgrep -P "$pid")"
    sleep 0.3
    kill "$feeder"
    pkill -P "$feeder"
    wait "$pid"
    got=$?
    echo "status $got"
    [ "$got" = "$3" ]
}
check "SIGTERM while it copies to servers" interrupted TERM themis:/d/f 143
check "leaves the target" holds new themis:/d/f
check "and nothing else" no_rest themis:/d
check "SIGHUP while it copies on this host" interrupted HUP local/f 129
check "leaves the target" holds old local/f
check "and nothing else" no_rest local
finish
