#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# With the hints at their defaults a write that has returned is visible to all: programs that never sync, as they run on
# a local file system, with list I/O and two-phase I/O, with the ranks on one pretended node and on two.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"
program=$THEMIS_BUILD/test/adio/order

# Ranks outnumber the processors here: a poll that finds nothing gives the processor away.
EXTRA_PRELOAD=$T/yield_shim.so
gcc -O2 -fPIC -shared -o "$EXTRA_PRELOAD" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl || exit 1

# order RANKS NODES HINTS FILE [SCENE...]: with such hints, "key value" in each line.
order() (
    n=$1 THEMIS_FAKE_NODES=$2 ROMIO_HINTS=$T/hints
    export THEMIS_FAKE_NODES ROMIO_HINTS
    printf '%b\n' "$3" >"$T/hints"
    shift 3
    limit 60 ranks "$n" "$program" "$@"
)

for n in 2 4; do
    check "$n ranks, a local file" order $n 1 '' "ufs:$T/file"
done
for servers in 1 2; do
    start_servers $servers
    for n in 2 4; do
        setting="$n ranks, servers: $servers"
        check "$setting, no hints" order $n 1 '' themis:/order
        for cache in auto off; do
            check "$setting, themis_cache $cache" order $n 1 "themis_cache $cache" themis:/order
        done
        check "$setting on two nodes" order $n 2 '' themis:/order
        check "$setting on two nodes, lists" order $n 2 'themis_collective list' themis:/order
        for nodes in 1 $n; do
            check "$setting on $nodes nodes, in two phases" order $n "$nodes" \
                'themis_collective twophase\nthemis_aggregators 2\nstriping_unit 8192' themis:/order
        done
    done
    # The cache is one of independent accesses.
    check "servers: $servers, themis_cache on: collective writes are not held back" \
        order 2 1 'themis_cache on' themis:/order fill-then-write one-rank-reads iwrite-all split
    stop_servers
done
finish
