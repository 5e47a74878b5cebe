#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One allocation, descriptor or thread that cannot be had, in a server or a client (test/nth/sweep.c says what must follow).
# Of the calls that allocate, some fail: the first one of each place in the code, and every so many-th from a random one
# on. THEMIS_NTH_ALL=1: all of them, which takes long; THEMIS_NTH_SEED=N: the same ones again.
# timeout: 1200
. "$(dirname "$0")/lib/testlib.sh"

seed=${THEMIS_NTH_SEED:-$$}
gcc -O2 -Wall -fPIC -shared -o "$T/shim.so" "$THEMIS_SRC/test/nth/shim.c" -ldl || exit 1
echo "# seed $seed"

# sweep TEXT STEP ARGUMENT...: with every STEP-th call, or all.
sweep() {
    text=$1 step=$2
    shift 2
    [ -z "${THEMIS_NTH_ALL-}" ] || step=1
    rm -rf "$T/sweep" && mkdir "$T/sweep"
    began=$(date +%s)
    check "$text" "$THEMIS_BUILD/test/nth/sweep" --themisd "$THEMIS_BUILD/server/themisd" --shim "$T/shim.so" \
        --directory "$T/sweep" --step "$step" --seed "$seed" --quiet 1 "$@"
    echo "# $(($(date +%s) - began)) s; $(grep ' calls, ' "$T/check.out")"
}

durable='--state DIR/names --directory DIR/objects'
posix="--store posix $durable"
history='--history DIR/history --history-interval 1s'

sweep "a client: memory" 40 --servers 2 --direct -1 client memory
sweep "a client that copies directly: memory" 40 client memory
sweep "a client: descriptors" 1 client descriptor
sweep "a server in memory: memory" 40 serve memory
sweep "a server in memory: descriptors" 1 serve descriptor
sweep "what two servers do by themselves: memory" 1000 --servers 2 --after 1500 serve memory --history DIR/history --history-interval 1s
# shellcheck disable=SC2086 # lists of words
{
    sweep "a durable arena: memory" 40 serve memory $durable
    sweep "a posix store: memory" 40 serve memory $posix
    sweep "a posix store: descriptors" 1 serve descriptor $posix
    for kind in memory descriptor thread; do
        step=1
        [ $kind != memory ] || step=40
        sweep "the first start, and the end, of a durable arena: $kind" $step --fresh 1 start $kind $durable $history
        sweep "the first start, and the end, of a posix store: $kind" $step --fresh 1 start $kind $posix
    done
    sweep "start and end of one of two servers: thread" 1 --servers 2 start thread
}
finish
