#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Collective I/O: collective/ against brute force on a local file, then MPI-IO with every mode, method and placement on
# live servers, with one host pretending to be several nodes; errors of one rank, and a server that is killed.
# timeout: 600
. "$(dirname "$0")/lib/testlib.sh"
programs=$THEMIS_BUILD/test/adio

# Ranks outnumber the processors here: a poll that finds nothing gives the processor away.
EXTRA_PRELOAD=$THEMIS_BUILD/test/lib/yield_shim.so
[ -e "$EXTRA_PRELOAD" ] || {
    EXTRA_PRELOAD=$T/yield_shim.so
    gcc -O2 -fPIC -shared -o "$EXTRA_PRELOAD" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl
}

# core N SEED CALLS
core() {
    case $THEMIS_VARIANT in
    asan | tsan) with=$(preload) ;;
    *) with=$EXTRA_PRELOAD ;;
    esac
    limit 120 mpirun.mpich -n "$1" -genv LD_PRELOAD="$with" \
        "$THEMIS_BUILD/test/collective/collective_core" "$T/core" "$2" "$3"
}
for n in 1 2 3 4 6; do
    check "core: random patterns, modes, methods, placements and nodes, $n ranks" core "$n" "$n" 60
done

start_servers 2

# hints KEY VALUE...: what ROMIO gives to every file from now on.
hints() {
    : >"$T/hints"
    while [ $# -gt 1 ]; do
        echo "$1 $2" >>"$T/hints"
        shift 2
    done
    export ROMIO_HINTS="$T/hints"
}

# random N NODES SEED CALLS
random() {
    THEMIS_FAKE_NODES=$2
    export THEMIS_FAKE_NODES
    limit 60 ranks "$1" "$programs/collective_mpi" random themis:/random "$3" "$4"
}

seed=0
for method in even aligned stripe-size static-cyclic group-cyclic transpose; do
    for placement in default locality topology; do
        seed=$((seed + 1))
        hints themis_collective twophase themis_fd_method $method themis_placement $placement cb_buffer_size 65536 \
            striping_unit 16384 themis_aggregators $((1 + seed % 3))
        check "two phases, $method, $placement: random calls, 4 ranks on $((1 + seed % 3)) nodes" \
            random 4 $((1 + seed % 3)) $seed 6
    done
done
for n in 2 3 6; do
    hints themis_collective twophase cb_config_list '*:*' cb_buffer_size 32768 striping_unit 16384
    check "two phases, several aggregators on a node: random calls, $n ranks" random $n 2 $((20 + n)) 8
    hints themis_collective list
    check "lists: random calls, $n ranks" random $n 1 $((30 + n)) 8
    hints themis_collective list themis_cache on
    check "lists through a cache: random calls, $n ranks" random $n 1 $((30 + n)) 8
    hints themis_cache off
    check "no cache: random calls, $n ranks" random $n 2 $((40 + n)) 8
done
hints romio_cb_write disable romio_cb_read disable
check "collective buffering disabled: random calls, 3 ranks" random 3 2 50 6

unset ROMIO_HINTS
for n in 1 4; do
    check "themis_cache on: what independent calls see, $n ranks" \
        limit 60 ranks $n "$programs/independent_cache" "themis:/cached$n"
done
# THEMIS_MANY_OPEN=200 makes it 4,800 files.
many_files() { limit 120 ranks 4 "$programs/many_files" themis:/many "${THEMIS_MANY_OPEN:-60}" 24 >"$T/many" && grep ', 0 wrong' "$T/many"; }
check "files on 24 communicators, many at a time" many_files

THEMIS_FAKE_NODES=2
info() { limit 60 ranks 4 "$programs/collective_mpi" info themis:/info >"$T/info"; }
hints themis_collective twophase themis_fd_method static-cyclic themis_placement topology striping_unit 65536
check "info: a program with two-phase calls ends" info
# shown KEY PATTERN
shown() { grep -qxE "$1 = $2" "$T/info" || { cat "$T/info" && return 1; }; }
check "info: mode" shown themis_collective_used twophase
check "info: file domains" shown themis_fd_method static-cyclic
check "info: placement" shown themis_placement topology
check "info: aggregators" shown romio_aggregator_list '[0-3]( [0-3])*'
check "info: a repeated pattern is planned once" shown themis_plans_made 1
check "info: no distances are known here" shown themis_topology_used flat

printf '* * 4\n' >"$T/hops"
hints themis_collective twophase themis_topology "$T/hops" themis_placement topology
check "info: a program with a hop file ends" info
check "info: a hop file" shown themis_topology_used 'hop file'

# 1 MiB in two domains, half of each on either node: 256 KiB go each way over 4 hops, and 512 KiB stay on their node, at
# most one hop; 1 MiB goes to the servers over 4 hops.
between() { awk -v key="$1" -v low="$2" -v high="$3" '$1 == key { good = $3 >= low && $3 <= high } END { exit !good }' "$T/info"; }
printf '* * 4\n' >"$T/hops"
hints themis_collective twophase themis_topology "$T/hops" themis_placement default themis_fd_method even \
    themis_aggregators 2 striping_unit 65536
check "info: a program whose costs are known ends" info
check "info: hop-bytes of the shuffle" between themis_hop_bytes $((2 * 262144 * 4)) $((2 * 262144 * 5))
check "info: and of the default placement" between themis_hop_bytes_default $((2 * 262144 * 4)) $((2 * 262144 * 5))
check "info: hop-bytes to the servers" shown themis_server_hop_bytes $((1048576 * 4))
check "info: and of the default placement" shown themis_server_hop_bytes_default $((1048576 * 4))
check "info: bytes over the busiest port" shown themis_max_link_bytes 262144
check "info: and with the default placement" shown themis_max_link_bytes_default 262144
check "info: bytes that leave their node" shown themis_moved_bytes $((2 * 262144))
check "info: number of aggregators" shown themis_aggregators_used 2

# Static-cyclic keeps stripes with their aggregators, whatever the size of a call.
cyclic() {
    THEMIS_FAKE_NODES=4
    export THEMIS_FAKE_NODES
    limit 60 ranks 4 "$programs/collective_mpi" cyclic themis:/cyclic
}
for aggregators in auto per-server 3; do
    hints themis_collective twophase themis_fd_method static-cyclic themis_aggregators $aggregators striping_unit 65536 \
        cb_buffer_size 1048576
    check "static-cyclic, $aggregators: calls of 64 KiB and 64 MiB have the same aggregators" cyclic
done
THEMIS_FAKE_NODES=2
hints themis_collective twophase themis_topology "$T/missing"
missing() { info 2>"$T/warning" && grep -q 'topology.*missing' "$T/warning"; }
check "a topology that is not there is warned about" missing

hints striping_unit 65536
check "non-blocking calls of 1 rank go on while nothing calls MPI" limit 100 ranks 1 "$programs/collective_mpi" overlap themis:/overlap

unset ROMIO_HINTS
for mode in list twophase; do
    hints themis_collective $mode
    check "$mode: one rank gives a bad argument, it gets an error, none hangs, the next call works" \
        limit 30 ranks 3 "$programs/collective_mpi" invalid themis:/invalid
done

# killed MODE KIND [strided]: ends the second server in the middle of such calls; all ranks get the same class.
killed() {
    hints themis_collective "$1" striping_unit 65536 themis_timeout $((8 * testlib_slower))s
    shift
    rm -f "$T/killed.out" # what the last one said
    limit 90 ranks 3 "$programs/collective_mpi" until-error themis:/killed 40 "$@" >"$T/killed.out" 2>&1 &
    program=$!
    until grep -qs running "$T/killed.out" || ! kill -0 $program 2>/dev/null; do
        sleep 0.1
    done
    sleep 0.5
    # shellcheck disable=SC2086 # a list of process ids
    set -- $testlib_servers
    eval "victim=\${$#}"
    kill -9 "$victim"
    wait "$program" && return 0
    cat "$T/killed.out"
    return 1
}
for mode in list twophase; do
    for kind in write read iwrite iread; do
        strided=strided
        [ $mode$kind != listwrite ] || strided=
        # shellcheck disable=SC2086 # a word or none
        check "$mode, $kind${strided:+, }$strided: a server is killed, all ranks return the same error" \
            killed $mode $kind $strided
        stop_servers
        start_servers 2
    done
done

# Numbers of aggregators that cannot be used, on 3 servers.
stop_servers
start_servers 3
# counted RANKS NODES HINT USED [PATTERN]: with so many aggregators; one warning with the pattern, or none.
counted() {
    hints themis_collective twophase themis_fd_method group-cyclic themis_aggregators "$3" striping_unit 65536
    THEMIS_FAKE_NODES=$2 limit 60 ranks "$1" "$programs/collective_mpi" info themis:/counted >"$T/info" 2>"$T/warning"
    shown themis_aggregators_used "$4" && [ "$(grep -c themis_aggregators "$T/warning")" = $((${5:+1} + 0)) ] && grep -q "${5:-^}" "$T/warning" "$T/info" ||
        { cat "$T/warning" && return 1; }
}
check "7 aggregators on 3 servers: group-cyclic takes 6, and one warning says so" \
    counted 7 7 7 6 '"7": 6 are used, which is what group-cyclic can use with 3 servers'
check "more aggregators than nodes: one warning says so" counted 4 3 7 3 'themis:/counted: .*"7": cb_nodes and cb_config_list allow 3'
# List I/O has no aggregators; a number that cannot be reached is warned about all the same.
listed() {
    hints themis_collective "$1" themis_aggregators "$2"
    THEMIS_FAKE_NODES=1 limit 60 ranks 4 "$programs/collective_mpi" info themis:/counted >"$T/info" 2>"$T/warning"
    shown themis_collective_used list && [ "$(grep -c themis_aggregators "$T/warning")" = "$3" ] || { cat "$T/warning" && return 1; }
}
for mode in list auto; do
    check "themis_collective $mode: more aggregators than ranks: one warning says so" listed $mode 99 1
    check "and none for as many as there are ranks" listed $mode 4 0
done
check "per-server comes to 3" counted 5 5 per-server 3
check "auto comes to a number that is shown" counted 6 6 auto '[36]'
finish
