# SPDX-License-Identifier: BSD-3-Clause
# Helpers for integration scripts; sourced, works under any POSIX shell:
#
#   . "$(dirname "$0")/lib/testlib.sh"
#   start_servers 2
#   check "ranks read what they wrote" limit 60 ranks 4 "$THEMIS_BUILD/examples/cube" themis:/f
#   finish
#
# ok TEXT, not_ok TEXT, skip TEXT REASON   one line a case
# check TEXT COMMAND...                    ok if the command succeeds; otherwise not ok, and its output
# none TEXT LINES                          ok if there are no lines; otherwise not ok, and the lines
# limit SECONDS COMMAND...                 runs a program (not a shell function but for ranks) under a timeout, which is
#                                          longer under sanitizers
# ranks N COMMAND...                       mpirun with the driver's library in front
# start_servers N [KEY=VALUE...]           N servers in $T/srv0.., each in a directory of its own; exports THEMIS_SERVERS
# stop_servers                             ends them
# run_env                                  words to put before "themis run", for the sanitizers
# spawn COMMAND...                         in the background; ended with the script
# await SECONDS COMMAND...                 until the command succeeds, for so long at most
# busy                                     percent of the processors' time that others take, while nothing of the script works
# finish                                   ends the script, with its status
#
# THEMIS_TEST_DIRECT=revoked: another job asks the servers for something at random moments, so that those that grant direct
# access to a job that is alone take it back and grant it again all the time.
#
# $T is a directory of the script's own. All of it goes when the script ends, however it ends.
testlib_dir=$(cd "$(dirname "$0")" && pwd)
THEMIS_SRC=${THEMIS_SRC:-$(cd "$testlib_dir/.." && pwd)}
while [ ! -e "$THEMIS_SRC/configure.ac" ] && [ "$THEMIS_SRC" != / ]; do THEMIS_SRC=$(dirname "$THEMIS_SRC"); done
THEMIS_BUILD=${THEMIS_BUILD:-$THEMIS_SRC/build}
THEMIS_PREFIX=${THEMIS_PREFIX:-$THEMIS_BUILD/inst}
PATH=$THEMIS_PREFIX/bin:$THEMIS_PREFIX/sbin:$PATH
UCX_NET_DEVICES=lo
# A warning that UCX gives about devices that other processes could use says nothing about us.
UCX_WARN_UNUSED_ENV_VARS=n
export THEMIS_SRC THEMIS_BUILD THEMIS_PREFIX PATH UCX_NET_DEVICES UCX_WARN_UNUSED_ENV_VARS
T=$(mktemp -d "${TMPDIR:-/tmp}/themis-test.XXXXXX") || exit 1
(umask 077 && head -c 32 /dev/urandom >"$T/key") # of servers that make one file system
testlib_failed=0 testlib_servers='' testlib_spawned=''
# Sanitizers make everything a few times slower; so servers are waited for longer, too.
testlib_slower=1
case ${THEMIS_VARIANT-} in
asan | tsan)
    testlib_slower=4
    export THEMIS_TIMEOUT="${THEMIS_TIMEOUT:-60s}"
    ;;
esac

ok() { printf 'ok - %s\n' "$*"; }

not_ok() {
    testlib_failed=$((testlib_failed + 1))
    printf 'not ok - %s\n' "$*"
}

skip() { printf 'skip - %s # %s\n' "$1" "$2"; }

none() {
    if [ -z "$2" ]; then
        ok "$1"
    else
        not_ok "$1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

check() {
    testlib_text=$1
    shift
    if "$@" </dev/null >"$T/check.out" 2>&1; then
        ok "$testlib_text"
    else
        testlib_status=$?
        not_ok "$testlib_text (status $testlib_status)"
        sed 's/^/# /' "$T/check.out"
        return 1
    fi
}

limit() {
    testlib_limit=$(($1 * testlib_slower))
    shift
    case $1 in
    ranks)
        shift
        testlib_mpirun=$(ranks_command "$@")
        shift
        # shellcheck disable=SC2086 # words of a command
        timeout -k 5 "$testlib_limit" $testlib_mpirun "$@"
        ;;
    *) timeout -k 5 "$testlib_limit" "$@" ;;
    esac
}

# sanitizer_library: what has to come first in a program that was not built with the sanitizer; empty in a normal build.
sanitizer_library() {
    case $THEMIS_VARIANT in
    asan | tsan) gcc -print-file-name="lib$THEMIS_VARIANT.so" ;;
    esac
}

# run_env: put before "themis run", whose command inherits the preload; shells and mpirun are not looked at for leaks.
run_env() {
    library=$(sanitizer_library)
    echo "env${library:+ LD_PRELOAD=$library ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0}"
}

# preload: what goes into LD_PRELOAD of a rank.
preload() {
    library=$(sanitizer_library)
    printf '%s' "${library:+$library:}${EXTRA_PRELOAD:+$EXTRA_PRELOAD:}$THEMIS_PREFIX/lib/libthemis-mpiio.so"
}

# ranks_command N: mpirun and its options, without the program.
ranks_command() {
    printf '%s' "mpirun.mpich -n $1 -genv LD_PRELOAD=$(preload)"
}

ranks() {
    testlib_mpirun=$(ranks_command "$@")
    shift
    # shellcheck disable=SC2086 # words of a command
    $testlib_mpirun "$@"
}

# free_port: a TCP port that nobody listens on; starts at a place that differs from script to script. Scripts that run at the
# same time have ranges of their own, so that none takes the port of a server that another one has just killed.
free_port() {
    testlib_ports=$((20000 + ${THEMIS_TEST_LANE:-0} % 5 * 2400))
    testlib_port=${testlib_port:-$((testlib_ports + $$ % 2400))}
    while :; do
        testlib_port=$((testlib_port + 1))
        [ "$testlib_port" -lt $((testlib_ports + 2400)) ] || testlib_port=$testlib_ports
        testlib_hex=$(printf ':%04X ' "$testlib_port")
        grep -q "$testlib_hex" /proc/net/tcp /proc/net/tcp6 2>/dev/null || break
    done
}

spawn() {
    "$@" </dev/null &
    testlib_spawned="$testlib_spawned $!"
}

# end_pids PID...: asks, waits up to 15 s, then insists.
end_pids() {
    for pid in "$@"; do kill "$pid" 2>/dev/null; done
    testlib_wait=150
    while [ "$testlib_wait" -gt 0 ]; do
        testlib_alive=
        for pid in "$@"; do
            ! kill -0 "$pid" 2>/dev/null || testlib_alive=yes
        done
        [ -n "$testlib_alive" ] || break
        testlib_wait=$((testlib_wait - 1))
        sleep 0.1
    done
    for pid in "$@"; do
        kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
}

# server_options INDEX LIST: the options of server INDEX of the list "host:port,...", but for those of the caller.
server_options() {
    printf '%s ' --listen 127.0.0.1 --port "$(echo "$2" | cut -d, -f$(($1 + 1)) | cut -d: -f2)" --servers "$2" --index "$1" \
        --size 1g --key "$T/key" --port-file "$T/srv$1/port"
}

# await_files SECONDS FILE...: until all are there, or a server has died.
await_files() {
    testlib_tries=$(($1 * 20))
    shift
    for file in "$@"; do
        until [ -s "$file" ]; do
            testlib_tries=$((testlib_tries - 1))
            [ "$testlib_tries" -gt 0 ] || return 1
            for pid in $testlib_servers; do kill -0 "$pid" 2>/dev/null || return 1; done
            sleep 0.05
        done
    done
}

# try_servers N [KEY=VALUE...]: one attempt; a port that was free may be taken by the time the server wants it.
try_servers() {
    testlib_count=$1 THEMIS_SERVERS='' testlib_wait_for=''
    shift
    for i in $(seq 0 $((testlib_count - 1))); do
        free_port
        THEMIS_SERVERS=$THEMIS_SERVERS${THEMIS_SERVERS:+,}127.0.0.1:$testlib_port
        mkdir -p "$T/srv$i"
        rm -f "$T/srv$i/port"
        testlib_wait_for="$testlib_wait_for $T/srv$i/port"
    done
    export THEMIS_SERVERS
    for i in $(seq 0 $((testlib_count - 1))); do
        # shellcheck disable=SC2046 # words of a command
        (cd "$T/srv$i" && exec themisd $(server_options "$i" "$THEMIS_SERVERS") $(printf ' --%s' "$@" | sed 's/--$//')) \
            </dev/null >>"$T/srv$i/log" 2>&1 &
        testlib_servers="$testlib_servers $!"
    done
    # shellcheck disable=SC2086 # a list of files
    await_files 60 $testlib_wait_for
}

# rival: a job that has a request for each server now and then.
rival() {
    export THEMIS_JOB=rival LC_ALL=C
    for testlib_pause in $(awk -v seed="$$" 'BEGIN { srand(seed); for (i = 0; i < 1000; i++) print 0.02 + 2.5 * rand() * rand() }'); do
        sleep "$testlib_pause"
        timeout 20 themis ls -l themis:/ >/dev/null 2>&1
    done
}

start_servers() {
    for _ in 1 2 3; do
        if try_servers "$@"; then
            [ "${THEMIS_TEST_DIRECT-}" != revoked ] || spawn rival
            return 0
        fi
        stop_servers
    done
    not_ok "servers start"
    sed 's/^/# /' "$T"/srv*/log
    finish
}

stop_servers() {
    # shellcheck disable=SC2086 # a list
    end_pids $testlib_servers
    testlib_servers=
    grep -hE 'Sanitizer|runtime error:' "$T"/srv*/log >"$T/sanitizer" 2>/dev/null || return 0
    not_ok "a sanitizer reported in a server"
    show_servers
    rm -f "$T"/srv*/log
}

# show_servers: what the servers wrote, as comments.
show_servers() { sed 's/^/# /' "$T"/srv*/log; }

testlib_clean() {
    trap - EXIT INT TERM HUP
    stop_servers
    # shellcheck disable=SC2086 # a list
    end_pids $testlib_spawned
    rm -rf "$T"
}
trap testlib_clean EXIT
trap 'testlib_clean; exit 130' INT TERM HUP

finish() {
    testlib_clean # may find another failure
    [ "$testlib_failed" = 0 ]
    exit
}

await() {
    testlib_left=$(($1 * 10))
    shift
    while [ "$testlib_left" -gt 0 ]; do
        "$@" >/dev/null 2>&1 && return 0
        testlib_left=$((testlib_left - 1))
        sleep 0.1
    done
    "$@" # what it says is seen
}

busy() {
    before=$(head -n 1 /proc/stat)
    sleep 2
    echo "$before $(head -n 1 /proc/stat)" | awk '{
        for (i = 2; i <= 9; i++) { all += $(i + 11) - $i; if (i == 5 || i == 6) idle += $(i + 11) - $i }
        printf "%.0f\n", 100 * (all - idle) / all
    }'
}
