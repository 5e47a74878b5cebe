#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Planning with live inputs: fabrics discovered from simulated subnets, and gathering over MPI.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

discover=$THEMIS_BUILD/test/aggregation/discover
gather=$THEMIS_BUILD/test/aggregation/gather

# with_fabric FILE COMMAND...: in a simulated subnet made from FILE, as its host r0n0.
with_fabric() {
    net=$1
    shift
    IBSIM_SOCKNAME=themis-$$
    SIM_HOST=r0n0
    export IBSIM_SOCKNAME SIM_HOST
    timeout 60 ibsim -s -n "$net" >"$T/ibsim.log" 2>&1 </dev/null &
    simulator=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        ! grep -q 'simulator ready' "$T/ibsim.log" || break
        sleep 0.1
    done
    result=0
    timeout 50 ibsim-run "$@" || result=$?
    kill "$simulator" 2>/dev/null
    wait "$simulator" 2>/dev/null
    return "$result"
}

if command -v ibsim >/dev/null && command -v ibsim-run >/dev/null; then
    for shape in "tree 4 20 1" "tree 3 5 2" "fat 8 4 4"; do
        # shellcheck disable=SC2086
        sh "$THEMIS_SRC/test/aggregation/fabric.sh" $shape >"$T/net"
        check "a live fabric ($shape) has the distances of its description" with_fabric "$T/net" "$discover" "$T/net" r0n0
    done
else
    skip "a live fabric has the distances of its description" "ibsim is not installed"
fi

check "without an adapter nothing is discovered" sh -c "! $discover $THEMIS_SRC/test/aggregation/data/tree2x2.net r0n0"
check "3 ranks on one node plan together" limit 60 mpirun.mpich -n 3 "$gather"
echo '* * 4' >"$T/hops"
for nodes in 2 4; do
    MPIR_CVAR_NUM_CLIQUES=$nodes
    export MPIR_CVAR_NUM_CLIQUES
    check "4 ranks on $nodes nodes plan together" limit 60 mpirun.mpich -n 4 "$gather"
    check "4 ranks on $nodes nodes plan together, with a hop file" limit 60 mpirun.mpich -n 4 "$gather" "$T/hops"
    check "4 ranks on $nodes nodes: a bad topology is taken as flat" limit 60 mpirun.mpich -n 4 "$gather" /none
done
finish
