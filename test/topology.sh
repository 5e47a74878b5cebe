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
unset MPIR_CVAR_NUM_CLIQUES

# The tool, on a fabric like the emulated cluster's: 4 racks of 2 hosts, 2 I/O hosts at the root.
themis=$THEMIS_BUILD/tools/themis
sh "$THEMIS_SRC/test/cluster/fabric.sh" 4 2 2 >"$T/cluster.net"
contains() { grep -q -- "$1" "$2"; }

check "topo shows racks, hosts and servers" limit 20 sh -c "'$themis' topo -f '$T/cluster.net' -s io0:1,io1:1 r0n0 r3n1 >'$T/topo'"
check "topo names the rack of a host" contains '^leaf3  -- root$' "$T/topo"
check "topo marks servers" contains 'io1  (I/O server)' "$T/topo"
check "topo tells distances" contains '^r0n0 to r3n1: 4 hops$' "$T/topo"
check "topo --json is JSON with all switches" limit 20 sh -c "'$themis' topo --json -f '$T/cluster.net' | jq -e '.switches | length == 5'"
check "topo shows a recorded machine" limit 20 sh -c "'$themis' topo --json --machine '$THEMIS_SRC/test/aggregation/data/four.xml' | jq -e '.packages | length == 4'"
check "topo refuses an unknown host" limit 20 sh -c "! '$themis' topo -f '$T/cluster.net' r0n0 nowhere"

for pattern in "cube -n 27" "btio -n 25"; do
    # shellcheck disable=SC2086
    check "plan ($pattern): topology is proved and never worse" limit 30 sh -c "'$themis' plan -p $pattern --per-node 4 --edge 100 -f '$T/cluster.net' -s io0,io1 -a 4 --json |
        jq -e '.placements | .topology.certified and ([.[] | .hop_bytes + .server_hop_bytes] | min) == .topology.hop_bytes + .topology.server_hop_bytes'"
done
check "plan says when a method adjusts the number" limit 20 sh -c "'$themis' plan -n 64 --per-node 2 --edge 64 -f tree:4:20:1 -m group-cyclic -s 3 -a 7 | grep -q '6 aggregators (7 asked for'"
check "plan draws both placements" limit 20 sh -c "'$themis' plan -n 27 --per-node 4 --edge 100 -f '$T/cluster.net' --svg '$T/p.svg' >'$T/out'"
check "plan's picture has every cable in both directions, twice" test "$(grep -c '<line' "$T/p.svg")" = $((2 * 2 * 14))
printf '# rank offset length rows stride\n0 0 100\n1 100 50 4 100\n' >"$T/pattern"
check "plan reads patterns from a file" limit 20 sh -c "'$themis' plan -n 2 --per-node 1 -p '$T/pattern' -f tree:1:2:1 --json | jq -e '.bytes == 300'"
echo '0 0' >"$T/pattern"
check "plan refuses a broken pattern" limit 20 sh -c "! '$themis' plan -n 2 -p '$T/pattern' -f tree:1:2:1"
check "plan refuses more nodes than hosts" limit 20 sh -c "! '$themis' plan -n 27 --per-node 1 -f tree:2:2:1 --edge 30"
finish
