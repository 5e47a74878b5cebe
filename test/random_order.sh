#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random programs (test/order): 2,000 sequences of collective, independent, non-blocking, shared-pointer and split accesses
# to overlapping bytes through several handles. Each byte that is read must be one that doc/collective.md allows.
#
#   ORDER_SEED=1 sh test/run.sh random_order     the first seed; otherwise the time
#
# A sequence that fails is kept in test-logs of the build tree, and runs again by random_order --replay.
# timeout: 1200
. "$(dirname "$0")/lib/testlib.sh"
program=$THEMIS_BUILD/test/order/random_order
logs=$THEMIS_BUILD/test-logs
seed=${ORDER_SEED:-$(date +%s)}
sequences=0
# Ranks outnumber the processors here: a poll that finds nothing gives the processor away.
EXTRA_PRELOAD=$THEMIS_BUILD/test/lib/yield_shim.so
mkdir -p "$logs"

# random_order RANKS NODES OPTION...: COUNT sequences of $seed on, as the options say; its output is in $T/out.
random_order() (
    n=$1 THEMIS_FAKE_NODES=$2
    export THEMIS_FAKE_NODES
    shift 2
    limit 300 ranks "$n" "$program" --save "$logs/random_order-$seed" "$@" >"$T/out" 2>&1 || {
        cat "$T/out"
        return 1
    }
)

# next_direct: sets `direct` to an option for the next value of the hint, where the library has it.
next_direct() {
    [ -n "$directs" ] || return 0
    direct="--hint themis_direct=${directs%% *}"
    directs="${directs#* } ${directs%% *}"
}

# sequences RANKS NODES COUNT [OPTION...]: on themis:, with the servers that run.
sequences() {
    n=$1 nodes=$2 count=$3
    shift 3
    next_direct
    # shellcheck disable=SC2086 # words
    check "$n ranks on $nodes nodes, servers: $servers, $count sequences from seed $seed${direct:+, ${direct#--hint }}${*:+, $*}" \
        random_order "$n" "$nodes" --seeds "$seed" "$count" --rules documented $direct "$@" themis:/order
    seed=$((seed + count)) sequences=$((sequences + count))
}

# noticed RANKS: what themis_cache=on allows is found within 100 sequences; tells how many it took.
noticed() {
    if random_order "$1" 1 --seeds "$seed" 100 --hint themis_cache=on --save "$T/noticed" themis:/order >/dev/null; then
        not_ok "$1 ranks, themis_cache=on: held-back writes are noticed within 100 sequences"
    elif took=$(sed -n 's/^random_order: .*: \([0-9]*\) sequences, the last of which is wrong.*/\1/p' "$T/out") && [ -n "$took" ]; then
        ok "$1 ranks, themis_cache=on: held-back writes are noticed after $took sequences"
    else
        not_ok "$1 ranks, themis_cache=on: the run ends with what is wrong"
        sed 's/^/# /' "$T/out"
    fi
}

# replayed: the sequence that was just kept is read again, and fails again in one of some runs: what ranks do at the same time
# differs from run to run.
replayed() {
    for _ in 1 2 3 4 5; do
        random_order 2 1 --replay "$T/noticed" --save "$T/again" themis:/order >/dev/null || grep -q 'is wrong' "$T/out" && return 0
    done
    cat "$T/out"
    return 1
}

# The rules are no stricter than a local file system is, but where ROMIO's own driver is wrong.
for n in 1 2 4; do
    check "$n ranks, a local file, 50 sequences from seed $seed" random_order $n 1 --seeds "$seed" 50 --rules local \
        --hint romio_ds_write=disable "ufs:$T/file"
done

directs='' direct=''
start_servers 1 && servers=1
! limit 60 ranks 1 "$program" --hint themis_direct=auto --has-hint themis_direct themis:/order || directs='auto on off'
sequences 1 1 100
sequences 2 1 350
sequences 2 2 50
sequences 4 1 100
sequences 8 1 40
for n in 2 4; do noticed $n; done
check "a sequence that failed is replayed" replayed
stop_servers

start_servers 2 && servers=2
sequences 1 1 100
sequences 2 1 200
sequences 3 1 200
sequences 4 2 100
sequences 8 2 40
stop_servers

start_servers 3 && servers=3
sequences 1 1 100
sequences 2 1 250
sequences 3 2 150
sequences 3 2 80 --hint themis_collective=twophase --hint themis_aggregators=2
sequences 4 1 120
sequences 8 1 20
stop_servers
[ $sequences = 2000 ] || not_ok "there are 2,000 sequences, not $sequences"
finish
