#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Operations on names whose client ends before any of its messages: the servers complete them or take them back, also
# when they are killed and started again meanwhile. INTENTS_ROUNDS=N: as often, by default once.
# timeout: 600
. "$(dirname "$0")/lib/testlib.sh"

rounds=${INTENTS_ROUNDS:-1}
cuts=$THEMIS_BUILD/test/client/cuts

# store_options STORE INDEX
store_options() {
    case $1 in
    posix) printf '%s ' --store posix --state "$T/names$2" --directory "$T/objects$2" ;;
    arena) printf '%s ' --store arena --size 256m --state "$T/names$2" --directory "$T/objects$2" ;;
    memory) printf '%s ' --store arena --size 256m ;;
    esac
}

# begin STORE INDEX
begin() {
    rm -f "$T/srv$2/port"
    # shellcheck disable=SC2046 # words of a command
    (cd "$T/srv$2" && LD_PRELOAD="$(sanitizer_library)" exec themisd $(server_options "$2" "$THEMIS_SERVERS") \
        $(store_options "$1" "$2")) </dev/null >>"$T/srv$2/log" 2>&1 &
    testlib_servers="$testlib_servers $!"
}

# begin_all STORE COUNT
begin_all() {
    testlib_servers='' ports=''
    for index in $(seq 0 $(($2 - 1))); do
        mkdir -p "$T/srv$index" "$T/objects$index"
        begin "$1" "$index"
        ports="$ports $T/srv$index/port"
    done
    # shellcheck disable=SC2086 # a list of files
    await_files 60 $ports
}

# addresses COUNT
addresses() {
    THEMIS_SERVERS=
    for _ in $(seq "$1"); do
        free_port
        THEMIS_SERVERS=$THEMIS_SERVERS${THEMIS_SERVERS:+,}127.0.0.1:$testlib_port
    done
    export THEMIS_SERVERS
}

kill_all() {
    for pid in $testlib_servers; do
        kill -9 "$pid"
        wait "$pid" 2>/dev/null
    done
}

# begin_first STORE COUNT: a port that was free may be taken by the time the server wants it.
begin_first() {
    for _ in 1 2 3; do
        rm -rf "$T"/names? "$T"/objects?
        addresses "$2"
        ! begin_all "$1" "$2" || return 0
        stop_servers
    done
    not_ok "$2 servers, $1: they start"
    show_servers
    return 1
}

# absence STORE: the second of three servers is killed, and away for longer than anybody waits for it.
absence() {
    # shellcheck disable=SC2086 # a list of processes
    set -- "$1" $testlib_servers
    kill -9 "$3"
    wait "$3" 2>/dev/null
    testlib_servers="$2 $4"
    sleep 14
    begin "$1" 1
    await_files 60 "$T/srv1/port"
}

# scene STORE COUNT KILL: all of the servers (yes), one, or none (no).
scene() {
    begin_first "$1" "$2" || return 1
    check "$2 servers, $1: of those who change a name at the same time one succeeds" limit 120 "$cuts" race
    if [ "$1" = memory ]; then
        check "$2 servers, $1: late clients see how their renames have ended" limit 60 "$cuts" late
    fi
    check "$2 servers, $1: operations are cut" limit 120 "$cuts" cut
    if [ "$3" = yes ]; then
        kill_all
        check "$2 servers, $1: they start again" begin_all "$1" "$2" || return 1
    fi
    if [ "$3" = one ]; then
        check "$2 servers, $1: one is away" absence "$1" || return 1
    fi
    check "$2 servers, $1, killed: $3: each is done or undone as a whole" limit 120 "$cuts" verify 45 || show_servers
    stop_servers
    rm -f "$T"/srv*/log
}

for _ in $(seq "$rounds"); do
    for count in 1 3; do
        for store in posix arena; do
            scene $store $count yes
        done
        scene posix $count no
        scene memory $count no
    done
    scene posix 3 one
done
finish
