#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Servers that are killed and started again under a running MPI program: lost data are an error on every rank, and a
# posix store goes on.
# alone
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

mkdir -p "$THEMIS_BUILD/test/adio"
program=$THEMIS_BUILD/test/adio/restart
mpicc.mpich -Wall -Werror -o "$program" "$THEMIS_SRC/test/adio/restart.c" || exit 1
gcc -O2 -fPIC -shared -o "$T/boot_shim.so" "$THEMIS_SRC/test/lib/boot_shim.c" -ldl || exit 1
export RESTART_DIRECTORY="$T"

# restart INDEX [OPTION...]: that server is killed and started again at its address.
restart() {
    index=$1
    shift
    pid=$(echo $testlib_servers | cut -d ' ' -f $((index + 1)))
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    rm -f "$T/srv$index/port"
    $between
    # shellcheck disable=SC2046 # words of a command
    (cd "$T/srv$index" && LD_PRELOAD="$server_preload" exec themisd $(server_options "$index" "$THEMIS_SERVERS") "$@") \
        </dev/null >>"$T/srv$index/log" 2>&1 &
    testlib_servers=$(echo $testlib_servers | awk -v at=$((index + 1)) -v pid=$! '{ $at = pid; print }')
    await_files 60 "$T/srv$index/port"
}

# restart_often INDEX [OPTION...]: several times.
restart_often() {
    for _ in 1 2 3 4; do
        restart "$@" || return 1
        sleep 0.3
    done
}

# scene CASE INDEX [OPTION...]: the program runs the case, and that server is restarted in it.
scene() {
    name=$1
    shift
    LOST_SERVER=$(echo "$THEMIS_SERVERS" | cut -d, -f$(($1 + 1)))
    export LOST_SERVER
    rm -f "$T/ready" "$T/done"
    scenes=$((scenes + 1))
    limit 60 ranks 4 "$program" "$name" "themis:/scene$scenes$suffix" </dev/null &
    running=$!
    testlib_tries=600
    until [ -e "$T/ready" ] || [ "$testlib_tries" = 0 ]; do
        sleep 0.05
        testlib_tries=$((testlib_tries - 1))
    done
    $restarts "$@" || return 1
    : >"$T/done"
    wait "$running"
}
scenes=0 suffix='' between='' restarts=restart server_preload=$(sanitizer_library)

for direct in on off; do
    options="direct=$direct stripe_size=64k"
    # shellcheck disable=SC2086 # words
    start_servers 2 $options
    for index in 1 0; do
        for name in lost-store lost-sync lost-close; do
            check "an arena is lost, direct access $direct, server $index: $name" \
                scene $name $index --direct $direct --stripe-size 64k
        done
    done
    suffix=$(printf '%200s' '' | tr ' ' n)
    check "the server is named behind a long name, too" scene lost-store 1 --direct $direct --stripe-size 64k
    suffix=''
    stop_servers
done

posix_options() { printf '%s ' --store posix --state "$T/names$1" --directory "$T/objects$1" --stripe-size 64k; }
lose_objects() { find "$T/objects$index" -type f ! -name STORE -exec rm {} +; }
lose_store() { rm -rf "$T/names$index" "$T/objects$index"/*; }
mkdir "$T/objects0"
start_servers 1 store=posix "state=$T/names0" "directory=$T/objects0" stripe_size=64k
# shellcheck disable=SC2046 # words
check "a posix store goes on after its server was killed" scene kept 0 $(posix_options 0)
restarts=restart_often
# shellcheck disable=SC2046
check "and with it shared file pointers and the locks of atomic mode" scene shared 0 $(posix_options 0)
restarts=restart
between=lose_objects
# shellcheck disable=SC2046
check "an object that was lost meanwhile is not synced" scene lost-sync 0 $(posix_options 0)
# shellcheck disable=SC2046
check "nor written, nor read" scene lost-store 0 $(posix_options 0)
between=lose_store
# shellcheck disable=SC2046
check "nor is anything in a store whose directories were emptied" scene lost-store 0 $(posix_options 0)
between=''
echo 01234567-89ab-4cde-8f01-23456789abcd >"$T/boot"
export BOOT_SHIM_ID="$T/boot"
server_preload="${server_preload:+$server_preload:}$T/boot_shim.so"
# shellcheck disable=SC2046
check "nor what was written before the machine was restarted" scene lost-sync 0 $(posix_options 0)
# shellcheck disable=SC2046
check "which does not concern files that were opened later" scene kept 0 $(posix_options 0)
finish
