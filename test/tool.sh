#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command `themis`: servers that stay, servers of one command, and files on them.
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
unset THEMIS_SERVERS THEMIS_CONFIG
HOME=$T # no configuration of the user's
TMPDIR=$T
XDG_RUNTIME_DIR=$T/none # no servers of the user's
export HOME TMPDIR XDG_RUNTIME_DIR

themis() { timeout -k 5 60 themis "$@"; }

# nothing_left LIST: no server of that list runs any more, and no directory of a run is there.
nothing_left() {
    ! pgrep -f -- "--servers $1 " && ! ls -d "$T"/themis-run-* 2>/dev/null
}

# --- without servers

check "--help names the commands" outcome 0 themis --help
check "an unknown command is a wrong usage" outcome 2 themis no-such-command
check "an unknown option is a wrong usage" outcome 2 themis ls --no-such-option
check "no servers configured" refused 1 "THEMIS_SERVERS" themis ls
check "a wrong server list" refused 1 "host:port" env THEMIS_SERVERS=nonsense themis ls
check "a configuration that is not there" refused 1 "no-such" env THEMIS_CONFIG=$T/no-such-file themis ls
free_port
check "no server there: said within the timeout, with its name" refused 1 "127.0.0.1:$testlib_port" \
    env THEMIS_SERVERS=127.0.0.1:$testlib_port THEMIS_TIMEOUT=1s timeout $((8 * testlib_slower)) themis ls

# --- servers that stay

check "start" outcome 0 themis start -s 2 -d "$T/servers" --size 256m
eval "$(cat "$T/out")"
list=$THEMIS_SERVERS
spawned=$(pgrep -f -- "--servers $list ")
testlib_servers=$spawned # ended with this script, whatever happens
check "start does not start twice, and says what ends those" refused 1 "already; 'themis stop -d $T/servers' ends" themis start -d "$T/servers"
check "start on a port in use tells why, once, and where the log is" says 1 "server 0 ended at once.*$T/taken/server0.log" \
    themis start -d "$T/taken" --size 64m -o "port=${list##*:}"
check "the end of the log is told" grep -q "cannot listen at 127.0.0.1:${list##*:}" "$T/err"
check "status names both" outcome 0 themis status
check "status as JSON" json 'length == 2 and all(.reachable)' themis status --json
check "who asks for it is no job" json 'all(.server.jobs == 0 and .jobs == [])' themis status --json
printf '[client]\nservers = %s\n' "$list" >"$T/themis.conf"
check "servers from a configuration file" env -u THEMIS_SERVERS THEMIS_CONFIG="$T/themis.conf" timeout 20 themis ls

# --- files

mkdir -p "$T/tree/sub/deeper" "$T/back"
: >"$T/tree/empty"
echo hello >"$T/tree/hello"
head -c 4194304 /dev/urandom >"$T/tree/block"
head -c 20000001 /dev/urandom >"$T/tree/sub/large"
echo deep >"$T/tree/sub/deeper/name with blanks"

check "mkdir" outcome 0 themis mkdir themis:/d
check "mkdir of what is there" refused 1 "exists" themis mkdir themis:/d
check "mkdir below nothing" refused 1 "no such" themis mkdir themis:/x/y/z
check "mkdir -p" outcome 0 themis mkdir -p themis:/x/y/z
check "mkdir -p again" outcome 0 themis mkdir -p themis:/x/y/z
check "cp into a directory" outcome 0 themis cp "$T/tree/hello" themis:/d
check "cat" prints hello themis cat themis:/d/hello
check "cp -r to servers" outcome 0 themis cp -r "$T/tree" themis:/
check "cp of a directory without -r" refused 1 "-r" themis cp "$T/tree" themis:/d
check "cp -r from servers" outcome 0 themis cp -r themis:/tree "$T/back"
check "all came back as it was" diff -r "$T/tree" "$T/back/tree"
check "cp from server to server" outcome 0 themis cp "themis://$list/tree/sub/large" themis:/copy
themis cat themis:/copy >"$T/copy"
check "its bytes" cmp "$T/copy" "$T/tree/sub/large"
# A file of a terabyte that holds a few bytes, there and back.
truncate -s 1T "$T/sparse" && printf middle | dd of="$T/sparse" bs=1 seek=5000000000 conv=notrunc 2>"$T/dd" &&
    truncate -s 6000000001 "$T/sparse.6g" && printf end | dd of="$T/sparse.6g" bs=1 seek=5999999000 conv=notrunc 2>"$T/dd"
check "cp of a sparse terabyte to servers" outcome 0 themis cp "$T/sparse" themis:/sparse
check "which is as long there" sh -c '[ "$(themis stat --json themis:/sparse | jq .[0].size_bytes)" = 1099511627776 ]'
check "cp of a sparse file to servers" outcome 0 themis cp "$T/sparse.6g" themis:/sparse.6g
check "and back" outcome 0 themis cp themis:/sparse.6g "$T/sparse.back"
check "it is the same, and takes no room for its holes" \
    sh -c 'cmp "$1/sparse.6g" "$1/sparse.back" && [ "$(du -k "$1/sparse.back" | cut -f1)" -lt 20000 ]' sh "$T"
rm -f "$T/sparse" "$T/sparse.6g" "$T/sparse.back"
themis rm themis:/sparse themis:/sparse.6g
check "cp over a longer file" outcome 0 themis cp "$T/tree/hello" themis:/copy
check "leaves the new one only" prints hello themis cat themis:/copy
check "ls" prints "block
empty
hello
sub/" themis ls themis:/tree
check "ls -l shows sizes" sh -c 'themis ls -l themis:/tree/sub | grep -q " 20000001 "'
check "ls --json" json 'map(select(.name == "sub").type) == ["directory"]' themis ls --json themis:/tree
check "stat" outcome 0 themis stat themis:/tree/sub/large
check "it tells where the stripes are" grep -q '^  layout    stripes of 1048576 bytes on 2 servers, the first on server [01]$' "$T/out"
check "stat --json" json '.[0].size_bytes == 20000001 and .[0].layout.count == 2' themis stat --json themis:/tree/sub/large
check "mv of a file" outcome 0 themis mv themis:/copy themis:/moved
check "mv into a directory" outcome 0 themis mv themis:/moved themis:/d
check "it is there" prints hello themis cat themis:/d/moved
check "mv of a directory" outcome 0 themis mv themis:/tree themis:/d
check "with all below it" prints deep themis cat "themis:/d/tree/sub/deeper/name with blanks"
check "rm" outcome 0 themis rm themis:/d/moved
check "rm again" refused 1 "no such" themis rm themis:/d/moved
check "rm -f again" outcome 0 themis rm -f themis:/d/moved
check "rm of a directory" refused 1 "directory" themis rm themis:/d
check "rmdir of a full one" refused 1 "not empty" themis rmdir themis:/d
check "rm -r" outcome 0 themis rm -r themis:/d themis:/x
check "nothing is left" prints "" themis ls
check "and its space is free" json 'all(.server.used_bytes == 0)' themis status --json
echo hello >"$T/hello"
check "cp to themis: without a path" outcome 0 themis cp "$T/hello" themis:
check "ls of it is that of the root" prints hello themis ls themis:
for command in "rm -r" rm rmdir; do
    # shellcheck disable=SC2086 # words of a command
    check "$command of the root" refused 1 "the root directory cannot be removed" themis $command themis:/
done
check "which is as before" prints hello themis ls themis:/
check "policy tells what it does not know" says 2 "bogus: expected get, explain or set POLICY" themis policy bogus
check "and that a policy is missing" says 2 "set: needs a policy" themis policy set
check "or one too many" says 2 "set: takes one policy" themis policy set fifo job-fair
check "or where none is taken" says 2 "explain: takes no policy" themis policy explain fifo
check "top tells what it wants for seconds" says 2 "-d x: expected seconds" themis top --once -d x
# written: bytes that the servers say they have written.
written() { themis status --json | jq '[.[].server.bytes_written] | add'; }
# stays: what a job wrote is still told when the job is gone.
stays() {
    THEMIS_JOB=passing themis cp "$T/hello" themis:/passing && before=$(written) || return 1
    for _ in $(seq 100); do
        [ -n "$(themis status --json | jq '.[].jobs[] | select(.job == "passing")')" ] || break
        sleep 0.2
    done
    [ -z "$(themis status --json | jq '.[].jobs[] | select(.job == "passing")')" ] || return 1
    after=$(written)
    echo "$before, then $after"
    [ "$before" -gt 0 ] && [ "$after" -ge "$before" ]
}
check "servers go on telling of what a job wrote that is gone" stays
check "ls of what is not there" refused 1 "/nothing" themis ls themis:/nothing
check "a local path where one on servers is wanted" refused 1 "themis:" themis ls /tmp
check "a name of 256 bytes" refused 1 "too long" themis mkdir "themis:/$(printf '%256s' '' | tr ' ' x)"

# --- a file onto itself, a directory into itself

# kept STATUS WORDS COMMAND...: it ends so, says these words once, and the local tree $T/self and all on the servers are as before.
kept() {
    everything >"$T/before" && says "$@" && everything >"$T/after" && diff "$T/before" "$T/after"
}
everything() {
    find "$T/self" -printf '%p %y\n' | sort && find "$T/self" -type f -exec cat {} + &&
        themis ls themis:/ themis:/t themis:/t/sub && themis cat themis:/x themis:/t/f
}

mkdir -p "$T/self/dir/sub" "$T/self/other"
echo precious >"$T/self/f"
echo more >"$T/self/dir/g"
ln "$T/self/f" "$T/self/hard"
ln -s f "$T/self/soft"
ln -s dir "$T/self/softdir"
ln -s ../dir "$T/self/other/updir"
named=$(echo "$list" | sed 's/127\.0\.0\.1/localhost/g')
themis mkdir -p themis:/t/sub
themis cp "$T/self/f" themis:/x
themis cp "$T/self/f" themis:/t/f
cd "$T/self" || exit 1
for to in f ./f hard soft dir/../f . "$T/self/f"; do
    name=$to
    [ "$to" != . ] || name=./f
    check "cp f $to is refused and keeps it" kept 1 "^themis cp: 'f' and '$name' are the same file\$" themis cp f "$to"
done
check "cp of a symbolic link to what it means" kept 1 "'soft' and 'f' are the same file" themis cp soft f
for to in themis:/x themis:/t/.././x "themis://$list/x" "themis://$named/x" "themis://$named//t/../x" themis:/ themis: "themis://$named"; do
    check "cp themis:/x $to" kept 1 "^themis cp: 'themis:/x' and 'themis:.*/x' are the same file\$" themis cp themis:/x "$to"
done
check "cp from the other name of the servers" kept 1 "are the same file" themis cp "themis://$named/x" themis:/x
check "other operands are copied" says 1 "'f' and 'other/../f' are the same file" themis cp dir/g f "$T/tree/hello" other/..
check "both of them" sh -c 'cmp g dir/g && cmp hello "$1/tree/hello"' sh "$T"
rm g hello
for to in dir dir/sub dir/sub/new softdir softdir/sub dir/sub/../../dir other/updir/sub . ; do
    from=dir
    [ "$to" != . ] || from=.
    check "cp -r $from $to" kept 1 "^themis cp: cannot copy a directory, '$from', into itself, '.*'\$" themis cp -r "$from" "$to"
done
check "cp -r of a symbolic link to a directory into that" kept 1 "'softdir', into itself, 'dir/sub/softdir'" themis cp -r softdir dir/sub
check "cp -r of what leads to the target by a symbolic link" says 1 "'other/updir', into itself, 'dir/sub/other/updir'" themis cp -rL other dir/sub
check "and no further" prints "dir/sub
dir/sub/other" find dir/sub
rmdir dir/sub/other
for to in themis:/t themis:/t/sub themis:/t/sub/new themis:/x/../t/new "themis://$named/t" "themis://$named/t/sub"; do
    check "cp -r themis:/t $to" kept 1 "^themis cp: cannot copy a directory, 'themis:/t', into itself, '.*'\$" themis cp -r themis:/t "$to"
done
check "cp -r of the root into a directory of it" kept 1 "'themis:/', into itself, 'themis:/t'" themis cp -r themis:/ themis:/t
check "cp -r beside a directory whose name begins alike" outcome 0 themis cp -r themis:/t themis:/tt
check "is a copy" prints precious themis cat themis:/tt/f
check "cp -r of .. goes into the directory itself" outcome 0 themis cp -r themis:/t/sub/.. themis:/tt/sub
check "with what is there" prints "f
sub/" themis ls themis:/tt/sub
themis rm -r themis:/tt
check "mv of a file onto itself keeps it" outcome 0 themis mv themis:/x "themis://$named/t/../x"
check "mv of a directory into itself" kept 1 "cannot be moved below itself" themis mv themis:/t themis:/t/sub
check "mv of a directory onto itself" kept 1 "cannot be moved below itself" themis mv themis:/t themis:/t
check "mv of . into a directory" kept 1 "no name to keep" themis mv themis:/t/. themis:/t/sub
check "mv of a name with a slash at its end" outcome 0 themis mv themis:/t/sub/ themis:/t/../t
check "leaves it in its directory" prints "f
sub/" themis ls themis:/t
check "the file is as it was" prints precious themis cat themis:/x
# The same paths on other servers are other files and directories.
check "other servers start" outcome 0 themis start -s 2 -d "$T/others" --size 64m
others=$(sed -n 's/.*THEMIS_SERVERS=\([^ ;]*\).*/\1/p' "$T/out")
testlib_servers="$testlib_servers $(pgrep -f -- "--servers $others ")"
check "cp to the same path on other servers" outcome 0 themis cp themis:/x "themis://$others/x"
check "its bytes there" prints precious themis cat "themis://$others/x"
check "cp -r of the root to other servers" outcome 0 themis cp -r themis:/ "themis://$others/t/.."
check "and below it" prints precious themis cat "themis://$others/t/f"
check "mv to them" refused 1 "on different servers" themis mv themis:/x "themis://$others/x"
check "they stop" outcome 0 env "THEMIS_SERVERS=$others" timeout 60 themis stop -d "$T/others"
# Of a tree what is neither file, directory nor symbolic link is named, and left out.
mkfifo "$T/self/dir/fifo" "$T/self/other/g"
ln -s /dev/zero "$T/self/dir/zero"
check "cp -r of a FIFO in a tree says so and goes on" says 1 "dir/fifo is neither a file nor a directory" themis cp -r dir themis:/special
check "a symbolic link is copied as one" sh -c 'themis ls -l themis:/special | grep " zero -> /dev/zero$"'
check "with -L of the device that it leads to" says 1 "dir/zero is neither a file nor a directory" themis cp -rL dir themis:/specials
themis rm -r themis:/specials
check "with the rest" prints more themis cat themis:/special/g
check "cp -r does not write to a FIFO in a tree" says 1 "other/g is neither a file nor a directory" themis cp -r themis:/special/. other
rm "$T/self/dir/fifo" "$T/self/other/g" "$T/self/dir/zero"
themis rm -r themis:/special
# A FIFO that is named is read, and written to.
through_fifo() {
    mkfifo "$T/fifo"
    timeout 20 sh -c 'echo streamed >"$1"' sh "$T/fifo" &
    testlib_spawned="$testlib_spawned $!"
    themis cp "$T/fifo" themis:/streamed || return 1
    timeout 20 cat "$T/fifo" >"$T/streamed" &
    testlib_spawned="$testlib_spawned $!"
    themis cp themis:/streamed "$T/fifo" && wait "$!" && [ "$(cat "$T/streamed")" = streamed ]
}
check "cp from a FIFO and to it" through_fifo
themis rm themis:/streamed
# What cannot be read does not empty what is there.
check "cp of what is not there keeps the target" kept 1 "absent" themis cp absent f
check "so on servers" kept 1 "absent" themis cp absent themis:/x
check "cp of what opens and cannot be read keeps it" kept 1 "/proc/self/mem to f" themis cp /proc/self/mem f
check "so on servers" kept 1 "/proc/self/mem to themis:/x" themis cp /proc/self/mem themis:/x
: >"$T/self/none"
check "cp of an empty file empties the target" sh -c 'themis cp none themis:/t/f && [ -z "$(themis cat themis:/t/f)" ] && themis cp none other/h && echo x >other/h && themis cp none other/h && [ ! -s other/h ]'
themis rm -r themis:/t themis:/x
cd "$T" || exit 1

# --- run with servers that are configured

check "run uses configured servers" prints "$list" themis run -- sh -c 'echo "$THEMIS_SERVERS"'
check "run preloads the driver behind what is there" prints "/lib/x86_64-linux-gnu/libm.so.6:$THEMIS_PREFIX/lib/libthemis-mpiio.so" \
    env LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6 timeout 60 themis run -- sh -c 'echo "$LD_PRELOAD"'

# --- stop

check "run refuses settings for servers that are configured" outcome 2 themis run -p fifo -- true
check "stop with a directory that has none ends no others" refused 1 "no servers were started with $T/typo" themis stop -d "$T/typo"
check "status of those" outcome 0 themis status
check "stop" outcome 0 themis stop -d "$T/servers"
check "the servers are gone" sh -c "for i in 1 2 3 4 5 6 7 8 9 10; do ps -o stat= -p '$(echo "$spawned" | tr '\n' ',' | sed 's/,$//')' | grep -q '^[^Z]' || exit 0; sleep 0.5; done; exit 1"
check "stop again" refused 1 "." env THEMIS_TIMEOUT=1s timeout 20 themis stop -d "$T/servers"
unset THEMIS_SERVERS

# --- run with servers of its own

check "run ends with the status of its command" outcome 7 themis run -s 2 --size 64m -- sh -c 'echo "$THEMIS_SERVERS"; exit 7'
check "and leaves nothing" nothing_left "$(cat "$T/out")"
check "run of what is not there" outcome 127 themis run --size 64m -- ./no-such-program
for wrong in garbage 127.0.0.1 127.0.0.1:port; do
    check "run with wrong servers, $wrong, runs nothing" refused 1 "'$wrong' is not host:port" \
        env "THEMIS_SERVERS=$wrong" timeout 60 themis run -- touch "$T/ran"
done
check "run with a configuration file that is not there runs nothing" refused 1 "$T/no-such.conf" \
    env THEMIS_CONFIG="$T/no-such.conf" timeout 60 themis run -- touch "$T/ran"
check "it was not run" [ ! -e "$T/ran" ]
check "run without -s starts one server" prints 1 themis run --size 64m -- sh -c 'echo "$THEMIS_SERVERS" | tr , "\n" | wc -l'
check "run keeps -s beside configured servers" prints 2 \
    env THEMIS_SERVERS=127.0.0.1:1 timeout 60 themis run -s 2 --size 64m -- sh -c 'echo "$THEMIS_SERVERS" | tr , "\n" | wc -l'
check "run passes settings on" prints 65536 themis run --size 64m -o stripe_size=64k -- \
    sh -c 'echo x >"$1" && themis cp "$1" themis:/f && themis stat --json themis:/f | jq .[0].layout.stripe_size_bytes' sh "$T/x"
check "a wrong setting is told once, as a wrong usage" says 2 "--no-such: no such option" themis run -s 2 --size 64m -o no-such=1 -- touch "$T/ran"
check "a wrong policy too" says 2 'policy "no-such"' themis run -s 2 -p no-such -- touch "$T/ran"
check "and that of start" says 2 'policy "no-such"' themis start -s 2 -p no-such -d "$T/wrong"
check "nothing was run, nothing is left" sh -c '[ ! -e "$1/ran" ] && [ ! -e "$1/wrong/servers" ] && ! ls -d "$1"/themis-run-*' sh "$T"
check "a number of servers that cannot be" says 2 "from 1 to 64" themis run -s 0 -- true

# interrupted SIGNAL: the command gets the signal, and the servers end as well.
interrupted() {
    rm -f "$T/list"
    themis_program=$(command -v themis)
    "$themis_program" run -s 2 --size 64m -- sh -c 'echo "$THEMIS_SERVERS" >"$1.new"; mv "$1.new" "$1"; exec sleep 60' sh "$T/list" &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    for _ in $(seq 200); do
        [ ! -s "$T/list" ] || break
        sleep 0.1
    done
    kill "-$1" "$pid"
    got=0
    wait "$pid" || got=$?
    [ "$got" = "$2" ] || echo "status $got, not $2"
    [ "$got" = "$2" ] && nothing_left "$(cat "$T/list")"
}
unalias themis 2>/dev/null
unset -f themis
check "SIGTERM" interrupted TERM 143
check "SIGHUP" interrupted HUP 129
if [ -x "$THEMIS_BUILD/examples/hello_mpiio" ]; then
    check "an MPI program under run" timeout 60 themis run -s 2 --size 256m -- mpirun.mpich -n 2 "$THEMIS_BUILD/examples/hello_mpiio" themis:/f
else
    not_ok "an MPI program under run: examples/hello_mpiio is not built"
fi
finish
