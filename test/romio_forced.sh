#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ROMIO's own programs with collective calls on themis:, in two phases with every file-domain method and placement in turn,
# ranks as if on two nodes, and as lists; and the same through a cache.
#
#   sh test/romio_forced.sh          each method with one placement, in turn
#   sh test/romio_forced.sh --all    each method with each placement; see also test/romio.sh --forced
# timeout: 600
. "$(dirname "$0")/lib/testlib.sh"
romio=$(readlink -f "$THEMIS_BUILD/adio/romio-build/source/adio")/../test
configured=$THEMIS_BUILD/adio/romio-build/test
programs=$THEMIS_BUILD/test/romio
all=${1-}
mkdir -p "$programs"

# Ranks outnumber the processors here: a poll that finds nothing gives the processor away.
EXTRA_PRELOAD=$T/yield_shim.so
gcc -O2 -fPIC -shared -o "$EXTRA_PRELOAD" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl

# compile NAME: unless the program is up to date.
compile() {
    for source in "$romio/$1.c" "$configured/$1.c"; do
        [ ! -e "$source" ] || break
    done
    [ "$programs/$1" -nt "$source" ] || mpicc.mpich -w -O1 -o "$programs/$1" "$source"
}

# program NAME RANKS ARGUMENT...
program() {
    name=$1 n=$2
    shift 2
    compile "$name" && limit 120 ranks "$n" "$programs/$name" "$@" >"$T/out" 2>&1 && grep -q 'No Errors' "$T/out" &&
        ! grep -qE 'Found +[0-9]+ +error|is wrong|should be' "$T/out" && return 0
    tail -n 20 "$T/out"
    return 1
}

# programs_pass TEXT: one result for all programs, with the output of those that fail.
programs_pass() {
    failed=
    : >"$T/failures"
    for name in coll_test split_coll noncontig_coll2 async simple psimple; do
        program $name 4 -fname "themis:/$name" >>"$T/failures" || failed="$failed $name"
    done
    for name in noncontig_coll i_noncontig; do
        program $name 2 -fname "themis:/$name" >>"$T/failures" || failed="$failed $name"
    done
    for name in aggregation2 hindexed; do
        program $name 4 "themis:/$name" >>"$T/failures" || failed="$failed $name"
    done
    program types_with_zeros 2 themis:/types_with_zeros >>"$T/failures" || failed="$failed types_with_zeros"
    [ -n "$failed" ] || {
        ok "$1"
        return 0
    }
    not_ok "$1: $failed"
    sed 's/^/# /' "$T/failures"
}

start_servers 2
ROMIO_HINTS=$T/hints THEMIS_FAKE_NODES=2
export ROMIO_HINTS THEMIS_FAKE_NODES
methods=0
for method in even aligned stripe-size static-cyclic group-cyclic transpose; do
    methods=$((methods + 1)) placements=0
    for placement in default locality topology; do
        placements=$((placements + 1))
        [ "$all" = --all ] || [ $((methods % 3 + 1)) = $placements ] || continue
        printf 'themis_collective twophase\nthemis_fd_method %s\nthemis_placement %s\nstriping_unit 4096\n' \
            "$method" "$placement" >"$T/hints"
        programs_pass "two phases, $method, $placement"
    done
done
echo 'themis_collective list' >"$T/hints"
programs_pass "lists"
printf 'themis_collective list\nthemis_cache on\n' >"$T/hints"
programs_pass "lists, and all calls through a cache"
echo 'themis_cache on' >"$T/hints"
programs_pass "independent calls through a cache"
finish
