#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One allocation, descriptor or thread that cannot be had, in a server or a client (test/nth/sweep.c says what must follow).
# Calls are chosen: the first two of each place in the code, and every so many-th from a random one on; THEMIS_NTH_ALL=1
# takes all, which takes long. THEMIS_NTH_SEED=N plays the same ones again.
# timeout: 3600
. "$(dirname "$0")/lib/testlib.sh"

seed=${THEMIS_NTH_SEED:-$$}
gcc -O2 -fPIC -shared -o "$T/shim.so" "$THEMIS_SRC/test/nth/shim.c" -ldl || exit 1
echo "# seed $seed"

# sweep TEXT STEP ARGUMENT...: runs it with every STEP-th call, or all.
sweep() {
    text=$1 step=$2
    shift 2
    [ -z "${THEMIS_NTH_ALL-}" ] || step=1
    rm -rf "$T/sweep" && mkdir "$T/sweep"
    began=$(date +%s)
    check "$text" "$THEMIS_BUILD/test/nth/sweep" --themisd "$THEMIS_BUILD/server/themisd" --shim "$T/shim.so" \
        --directory "$T/sweep" --step "$step" --seed "$seed" "$@"
    echo "# $(($(date +%s) - began)) s; $(grep ' calls, ' "$T/check.out")"
}

for kind in memory descriptor thread; do
    sweep "a client of two servers: $kind" 40 --servers 2 --direct -1 client $kind
done
sweep "a client that copies directly: memory" 40 client memory
sweep "a client that copies directly: descriptor" 1 client descriptor
for kind in memory descriptor; do
    sweep "a server in memory: $kind" 40 serve $kind
    sweep "two servers, without direct access: $kind" 40 --servers 2 --direct -1 --linger 1300 serve $kind
    sweep "a posix store: $kind" 40 serve $kind --store posix --state DIR/names --directory DIR/objects
    sweep "a durable arena: $kind" 40 serve $kind --state DIR/names --directory DIR/objects
done
for kind in memory descriptor thread; do
    sweep "start and stop of a server in memory: $kind" 40 start $kind --direct off
    sweep "start and stop of one of two servers, with history: $kind" 40 --servers 2 start $kind --history DIR/history
    sweep "start and stop of a posix store: $kind" 40 start $kind --store posix --state DIR/names --directory DIR/objects
    sweep "the first start of a durable arena: $kind" 40 --fresh 1 start $kind --state DIR/names --directory DIR/objects
done
finish
