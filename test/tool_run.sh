#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# themis run: what is preloaded, what remains when it is killed, and many of them at once.
# THEMIS_MANY_RUNS=100 begins that many at once.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"
unset THEMIS_SERVERS THEMIS_CONFIG
HOME=$T # no configuration of the user's
TMPDIR=$T
export HOME TMPDIR
hello=$THEMIS_BUILD/examples/hello_mpiio
profiler=$THEMIS_BUILD/test/lib/profiler_shim.so
driver=$THEMIS_PREFIX/lib/libthemis-mpiio.so
run=$(run_env)

# prints LINES COMMAND...: true if the command succeeds and this is its output.
prints() {
    lines=$1
    shift
    "$@" >"$T/out" 2>"$T/err" && [ "$(cat "$T/out")" = "$lines" ] && return 0
    cat "$T/out" "$T/err"
    return 1
}

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

# A server that ends before the command is told of, by number.
lost() {
    # shellcheck disable=SC2016,SC2086
    timeout 60 $run themis run -s 2 --size 64m -- sh -c 'kill -KILL "$(pgrep -f -- "--servers $THEMIS_SERVERS --index 1")" && sleep 1' >"$T/out" 2>&1
    grep -q '^themis run: server 1 has ended, by signal 9' "$T/out" && return 0
    cat "$T/out"
    return 1
}
check "a server that is killed is named" lost

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
    kill -SEGV "$(cat "$T/rank")" && named 'libthemis-mpiio.so(ADIOI_THEMIS_[A-Za-z_]*+0x' "$T/crash"
}
case ${THEMIS_VARIANT-} in
asan | tsan) skip "backtraces" "a sanitizer prints them" ;;
*)
    check "the backtrace of a server names its functions" crashing_server
    check "so that of a rank in the driver" crashing_rank
    ;;
esac

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
