#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# themis run: what is preloaded, what remains when it is killed, and many of them at once.
# THEMIS_MANY_RUNS=100 begins that many at once.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
unset THEMIS_SERVERS THEMIS_CONFIG
HOME=$T # no configuration of the user's
TMPDIR=$T
XDG_RUNTIME_DIR=$T # no servers of the user's
export HOME TMPDIR XDG_RUNTIME_DIR
hello=$THEMIS_BUILD/examples/hello_mpiio
profiler=$THEMIS_BUILD/test/lib/profiler_shim.so
driver=$THEMIS_PREFIX/lib/libthemis-mpiio.so
posix=$THEMIS_PREFIX/lib/libthemis-posix.so
run=$(run_env)

# --- what is preloaded

# shellcheck disable=SC2016 # expanded by the command
show='echo "$LD_PRELOAD"'
case ${THEMIS_VARIANT-} in
asan | tsan) skip "the order of LD_PRELOAD" "a sanitizer is in it" ;;
*)
    check "run puts the driver behind what is there" prints "libm.so.6:$driver" env LD_PRELOAD=libm.so.6 timeout 60 themis run --size 64m -- sh -c "$show"
    check "and only once" prints "$driver:libm.so.6" env LD_PRELOAD="$driver:libm.so.6" timeout 60 themis run --size 64m -- sh -c "$show"
    check "so in mpirun -genv" prints "libm.so.6:$driver" timeout 60 themis run --size 64m -- mpirun.mpich -n 1 -genv LD_PRELOAD libm.so.6 sh -c "$show"
    check "-genv with =" prints "libm.so.6:$driver" timeout 60 themis run --size 64m -- mpirun.mpich -genv LD_PRELOAD=libm.so.6 -n 1 sh -c "$show"
    check "-env" prints "libm.so.6:$driver" timeout 60 themis run --size 64m -- mpirun.mpich -n 1 -env LD_PRELOAD libm.so.6 sh -c "$show"
    check "and env" prints "libm.so.6:$driver" timeout 60 themis run --size 64m -- env LD_PRELOAD=libm.so.6 sh -c "$show"
    check "with --posix the library of file calls behind it" prints "libm.so.6:$driver:$posix" timeout 60 themis run --posix --size 64m -- env LD_PRELOAD=libm.so.6 sh -c "$show"
    check "srun's --export keeps what follows" prints "--export=ALL,LD_PRELOAD=libm.so.6:$driver,A=1" \
        timeout 60 themis run --size 64m -- echo --export=ALL,LD_PRELOAD=libm.so.6,A=1
    ;;
esac
# seen COMMAND...: the program works, and the profiler has seen what both of its ranks opened.
seen() {
    timeout -k 5 $((60 * testlib_slower)) "$@" >"$T/out" 2>&1 && [ "$(grep -c "profiler: [1-9][0-9]* opened" "$T/out")" = 2 ] && return 0
    cat "$T/out"
    return 1
}
# shellcheck disable=SC2086 # words of a command
{
    library=$(sanitizer_library)
    check "a profiler in front sees the calls" seen env "LD_PRELOAD=${library:+$library:}$profiler" themis run --size 256m -- mpirun.mpich -n 2 "$hello" themis:/f
    check "so one that mpirun preloads" seen $run themis run --size 256m -- mpirun.mpich -n 2 -genv LD_PRELOAD "${library:+$library:}$profiler" "$hello" themis:/f
}

# --- what remains

# left WORDS: processes with these words on their command line.
left() { pgrep -f -a -- "$1"; }

# gone WORDS...: within 2 s (longer under sanitizers) no such process is left, nor a file in $TMPDIR or /dev/shm.
gone() {
    for _ in $(seq $((20 * testlib_slower))); do
        remains=
        for words in "$@"; do remains=$remains$(left "$words"); done
        [ -n "$remains" ] || break
        sleep 0.1
    done
    remains=$remains$(ls -d "$T"/themis-run-* /dev/shm/themis-run-* 2>/dev/null)
    [ -z "$remains" ] || echo "left: $remains"
    [ -z "$remains" ]
}

# killed HOW: run with two servers and a launcher's ranks is killed; HOW is "-" for its process group, empty for itself.
# The ranks are told from others by the time that they sleep.
nap=7$$
killed() {
    rm -f "$T/list"
    # shellcheck disable=SC2016,SC2086 # expanded by the command; words of a command
    setsid $run themis run -s 2 --size 64m -- sh -c \
        'echo "$THEMIS_SERVERS" >"$1.new"; mv "$1.new" "$1"; sleep "$2" & mpirun.mpich -n 2 sleep "$2"; echo "went on" >"$1.wrong"' sh "$T/list" "$nap" &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    for _ in $(seq 100); do
        [ "$(pgrep -c -f "^sleep $nap")" != 3 ] || break
        sleep 0.1
    done
    [ "$(pgrep -c -f "^sleep $nap")" = 3 ] || { echo "the ranks did not start" && return 1; }
    kill -KILL "$1$pid"
    wait "$pid" 2>/dev/null
    gone "--servers $(cat "$T/list") " "sleep $nap" && [ ! -e "$T/list.wrong" ]
}
check "SIGKILL of run ends servers, launcher, ranks and what a script began" killed ""
check "so SIGKILL of its process group" killed "-"
# terminated: SIGTERM of run ends all, too, though the script that it runs passes nothing on.
terminated() {
    # shellcheck disable=SC2016,SC2086
    $run themis run -s 1 --size 64m -- sh -c 'mpirun.mpich -n 2 sleep "$1"; true' sh "$nap" &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    for _ in $(seq 100); do
        [ "$(pgrep -c -f "^sleep $nap")" != 2 ] || break
        sleep 0.1
    done
    kill "$pid"
    wait "$pid" 2>/dev/null
    gone "sleep $nap"
}
check "SIGTERM of run" terminated

# --- signals that do not end it

# ignores: with SIGHUP and SIGQUIT ignored, as nohup does, neither run nor its command is ended by them. $$ is run,
# $PPID its supervisor.
ignores() {
    # shellcheck disable=SC2016,SC2086
    timeout 60 $run sh -c 'trap "" HUP QUIT; exec themis run -q --size 64m -- sh -c '\''
        for signal in HUP QUIT; do kill -$signal "$1" $PPID $$; done
        sleep 0.3
        echo stays'\'' sh $$' >"$T/out" 2>&1
    [ "$(cat "$T/out")" = stays ] && return 0
    cat "$T/out"
    return 1
}
check "run leaves ignored signals ignored" ignores
# passes: SIGUSR1 and SIGUSR2 of run come to the command; none of those of a batch system is taken for the end of run.
passes() {
    # shellcheck disable=SC2016,SC2086
    timeout 60 $run sh -c 'exec themis run -q --size 64m -- sh -c '\''
        trap "echo one" USR1
        trap "echo two" USR2
        kill -USR1 "$1"; sleep 0.5
        kill -USR2 "$1"; sleep 0.5
        kill -"$2" $PPID; sleep 0.3
        echo end'\'' sh $$ "$1"' sh "$(kill -l RTMIN 2>/dev/null || echo 34)" >"$T/out" 2>&1
    [ "$(tr '\n' ' ' <"$T/out")" = "one two end " ] && return 0
    cat "$T/out"
    return 1
}
check "SIGUSR1 and SIGUSR2 go to the command" passes
# interrupted: SIGINT does not wait for a server that does not end. Background processes of a script ignore it.
interrupted() {
    rm -f "$T/ended"
    # shellcheck disable=SC2016,SC2086
    env --default-signal=INT $run themis run -q --size 64m -- sh -c \
        'kill -STOP "$(pgrep -f -- "--servers $THEMIS_SERVERS ")"; echo done >"$1"' sh "$T/ended" &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    await_files 20 "$T/ended" || return 1
    sleep 1
    kill -INT "$pid"
    for _ in $(seq 50); do
        kill -0 "$pid" 2>/dev/null || { wait "$pid"; return; }
        sleep 0.1
    done
    echo "still runs"
    return 1
}
check "SIGINT while servers end" interrupted

# A server that ends before the command is told of, by number.
lost() {
    # shellcheck disable=SC2016,SC2086
    timeout 60 $run themis run -s 2 --size 64m -- sh -c 'kill -KILL "$(pgrep -f -- "--servers $THEMIS_SERVERS --index 1")" && sleep 1' >"$T/out" 2>&1
    grep -q '^themis run: server 1 has ended, by signal 9' "$T/out" && return 0
    cat "$T/out"
    return 1
}
check "a server that is killed is named" lost

# shares_key: several servers get their key by an open file that they close, and check what each other has signed.
# shellcheck disable=SC2016 # expanded by the command
shares_key() {
    timeout 60 themis run -s 2 --size 64m -- sh -c '
        for pid in $(pgrep -f -- "--servers $THEMIS_SERVERS "); do
            tr "\\0" "\\n" <"/proc/$pid/cmdline" | grep -qx -e --key-fd && ! ls -l "/proc/$pid/fd" | grep themis-key || exit 1
        done
        as_user="setpriv --reuid=nobody --regid=$(id -g nobody) --clear-groups"
        [ "$(id -u)" = 0 ] && $as_user true 2>/dev/null || as_user=
        for file in 1 2 3 4; do
            head -c 3000000 /dev/zero | $as_user themis cp - "themis:/$file" && $as_user themis cat "themis:/$file" | cmp - "$1" || exit 1
        done' sh "$T/zeros"
}
head -c 3000000 /dev/zero >"$T/zeros"
chmod 755 "$T"
check "several servers share a key" shares_key

# --- crashes

# named PATTERN FILE: the file gets a backtrace with that function within 20 s.
named() {
    for _ in $(seq 200); do
        ! grep -q -e "$1" "$2" || return 0
        sleep 0.1
    done
    cat "$2"
    return 1
}
crashing_server() {
    themisd --listen 127.0.0.1 --port 0 --size 64m --port-file "$T/port" >"$T/crash" 2>&1 &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    await_files 20 "$T/port" && kill -SEGV "$pid" && named 'themisd(themis_server_engine_join+0x' "$T/crash"
}
# A rank that waits for a server.
crashing_rank() {
    free_port
    # shellcheck disable=SC2086
    $run "THEMIS_SERVERS=127.0.0.1:$testlib_port" THEMIS_TIMEOUT=30s themis run -- "$hello" themis:/f >"$T/crash" 2>&1 &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    for _ in $(seq 100); do
        ! pgrep -P "$(pgrep -P "$pid" || echo 1)" -f "^$hello" >"$T/rank" || break
        sleep 0.1
    done
    sleep 1
    kill -SEGV "$(cat "$T/rank")" && named 'libthemis-mpiio-mpich.so(ADIOI_THEMIS_[A-Za-z_]*+0x' "$T/crash"
}
case ${THEMIS_VARIANT-} in
asan | tsan) skip "backtraces" "a sanitizer prints them" ;;
*)
    check "the backtrace of a server names its functions" crashing_server
    check "so that of a rank in the driver" crashing_rank
    ;;
esac

# --- whose servers, and what becomes of their files

alone="timeout 60 themis run --size 64m"
mkdir -p "$T/in/sub"
echo hello >"$T/in/hello"
head -c 3000000 /dev/urandom >"$T/in/sub/block"
# shellcheck disable=SC2086,SC2016 # words of a command; expanded by the command
{
    check "run says that the servers are its own" says 0 '^themis run: 1 server of its own, 127.0.0.1:[0-9]*: what it holds' $alone -- true
    check "and what ends with them" says 0 '^themis run: 2 files, 2.9 MiB, discarded' $alone --stage-in "$T/in" -- true
    check "-q says nothing" sh -c '[ -z "$(timeout 60 themis run -q --size 64m -- themis mkdir themis:/d 2>&1)" ]'
    check "a failing command that used no server" says 3 'something replaced LD_PRELOAD' $alone -- sh -c 'exit 3'
    check "--stage-in with a name there" prints hello $alone --stage-in "$T/in/hello:/other" -- themis cat themis:/other
    check "a name with colons" sh -c 'echo x >"$1/a:b_15:00.nc" && [ "$(timeout 60 themis run --size 64m --stage-in "$1/a:b_15:00.nc:/a:b.nc" --stage-in "$1/a:b_15:00.nc" -- themis ls)" = "a:b.nc
a:b_15:00.nc" ]' sh "$T"
    check "--stage-in of what is not there runs nothing" says 1 'the command is not run' $alone --stage-in "$T/absent" -- touch "$T/ran"
    check "indeed" [ ! -e "$T/ran" ]
    check "--stage-out after a failure, which is the status" says 3 'of its own' $alone --stage-in "$T/in" --stage-out "/in:$T/back" -- sh -c 'exit 3'
    check "brings all back" diff -r "$T/in" "$T/back"
    check "--keep with checksums" says 0 'of its own' $alone --stage-in "$T/in" --verify --keep "$T/kept" -- true
    check "keeps all" diff -r "$T/in" "$T/kept/in"
    check "--stage-out of what is not there" says 1 'stage-out /absent:.* failed' $alone --stage-out "/absent:$T/absent" -- true
    check "and not all of it is said to be copied" says 1 'could not be copied, see above, is lost' $alone --stage-in "$T/in" --stage-out "/absent:$T/absent" -- true
    check "files that have been copied are not said to be lost" says 0 'what --stage-out named has been copied before' $alone --stage-in "$T/in" --stage-out "/in:$T/again" -- true
    check "a --stage-out into no directory: before the command" says 1 "cannot make $T/none/x: $T/none: No such file or directory; the command is not run" \
        $alone --stage-out "/in:$T/none/x" -- touch "$T/was-run"
    check "as with --keep" says 1 'the command is not run' $alone --keep "$T/none/x" -- touch "$T/was-run"
    check "which has not been run" [ ! -e "$T/was-run" ]
    check "a wrong --stage-out" says 2 'expected /PATH-ON-SERVERS:FILE' $alone --stage-out absent -- true
}
# after_term: SIGTERM of run ends the command, and what is to be copied out is.
after_term() {
    # shellcheck disable=SC2086
    $run themis run --size 64m --stage-in "$T/in/hello" --stage-out "/hello:$T/late" -- sleep "$nap" &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    for _ in $(seq 100); do
        [ -z "$(left "^sleep $nap")" ] || break
        sleep 0.1
    done
    kill "$pid"
    got=0
    wait "$pid" || got=$?
    [ "$got" = 143 ] && cmp "$T/in/hello" "$T/late"
}
check "--stage-out after SIGTERM" after_term

mkdir "$T/elsewhere"
ln -s elsewhere "$T/themis"
check "start does not use a directory that may be another's" says 0 "/themis is not a directory that only you can write to" \
    sh -c '! themis start --size 64m'
check "and makes nothing there" [ -z "$(ls "$T/elsewhere")" ]
rm "$T/themis"
check "servers start" sh -c 'themis start --size 64m >"$1/started"' sh "$T"
list=$(sed -n 's/.*THEMIS_SERVERS=\([^ ;]*\).*/\1/p' "$T/started")
testlib_servers=$(pgrep -f -- "--servers $list ")
check "run in another shell takes those, and says so" says 0 "^themis run: the servers of 'themis start', $list\$" timeout 60 themis run -- themis mkdir themis:/stays
check "other commands, too" prints stays/ themis ls
check "configured ones come first" says 0 "^themis run: the servers that are configured, 127.0.0.1:1\$" env THEMIS_SERVERS=127.0.0.1:1 timeout 60 themis run -- true
check "-s takes others" says 0 'of its own' timeout 60 themis run -s 1 --size 64m -- true
kill -KILL $testlib_servers
sleep 0.2
check "run refuses started ones that are gone" says 1 "do not answer; 'themis stop' forgets them" timeout 60 themis run -- touch "$T/ran"
check "and runs nothing" [ ! -e "$T/ran" ]
chmod 777 "$T/themis"
check "a list that another user could have written is not used" says 0 'of its own' timeout 60 themis run --size 64m -- true
rm -rf "$T/themis"
testlib_servers=

# --- many at once

# together N: that many at once, each with servers of its own that its command uses, all succeed.
together() {
    pids=''
    for i in $(seq "$1"); do
        # shellcheck disable=SC2086
        $run themis run -s $((1 + i % 2)) -- sh -c 'themis mkdir "themis:/$1" && [ "$(themis ls)" = "$1/" ]' sh "d$i" </dev/null >"$T/many.$i" 2>&1 &
        pids="$pids $i:$!"
    done
    failed=0
    for pair in $pids; do
        wait "${pair#*:}" && continue
        failed=$((failed + 1))
        sed "s/^/${pair%:*}: /" "$T/many.${pair%:*}"
    done
    echo "$failed of $1 failed"
    [ "$failed" = 0 ]
}
many=${THEMIS_MANY_RUNS:-20}
THEMIS_TIMEOUT=60s
export THEMIS_TIMEOUT
check "$many runs at once" together "$many"
finish
