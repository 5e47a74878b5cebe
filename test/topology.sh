#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Planning with live inputs: fabrics discovered from simulated subnets, and the driver's planner over MPI.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

discover=$THEMIS_BUILD/test/aggregation/discover
plan=$THEMIS_BUILD/test/collective/plan_mpi

# Ranks outnumber the processors here: a poll that finds nothing gives the processor away.
LD_PRELOAD_RANKS=$THEMIS_BUILD/test/lib/yield_shim.so
[ -e "$LD_PRELOAD_RANKS" ] || {
    LD_PRELOAD_RANKS=$T/yield_shim.so
    gcc -O2 -fPIC -shared -o "$LD_PRELOAD_RANKS" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl
}

# plan_mpi MPIRUN_OPTION... -- OPTION...
plan_mpi() {
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    shift
    case $THEMIS_VARIANT in
    asan | tsan) ;;
    *) words="$words -genv LD_PRELOAD $LD_PRELOAD_RANKS" ;;
    esac
    # shellcheck disable=SC2086 # words of a command
    limit 60 mpirun.mpich $words "$plan" "$@"
}

# with_simulator FILE COMMAND...: beside a simulated subnet made from FILE.
with_simulator() {
    net=$1
    shift
    IBSIM_SOCKNAME=themis-$$
    export IBSIM_SOCKNAME
    timeout 60 ibsim -s -n "$net" >"$T/ibsim.log" 2>&1 </dev/null &
    simulator=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        ! grep -q 'simulator ready' "$T/ibsim.log" || break
        sleep 0.1
    done
    result=0
    "$@" || result=$?
    kill "$simulator" 2>/dev/null
    wait "$simulator" 2>/dev/null
    return "$result"
}

# with_fabric FILE COMMAND...: in that subnet, as its host r0n0.
with_fabric() {
    net=$1
    shift
    with_simulator "$net" limit 50 env SIM_HOST=r0n0 ibsim-run "$@"
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

# Each rank is on a node of its own with an adapter of its own; the host's name is that of none of them.
# Distances between r0n0, r0n1, r1n0 and r2n4, round and round: 2 + 4 + 4 + 4.
plan_discovered() {
    set -- -env SIM_HOST r0n0 ibsim-run "$plan" -n 4 -h 14 "$1" "discovered fabric" \
        : -n 1 -env SIM_HOST r0n1 ibsim-run "$plan" -n 4 "$1" "discovered fabric" \
        : -n 1 -env SIM_HOST r1n0 ibsim-run "$plan" -n 4 "$1" "discovered fabric" \
        : -n 1 -env SIM_HOST r2n4 ibsim-run "$plan" -n 4 "$1" "discovered fabric"
    limit 50 mpirun.mpich -n 1 "$@"
}
case $THEMIS_VARIANT in
asan | tsan) skip "4 ranks discover their fabric" "the simulator's library does not go before the sanitizer's" ;;
*)
    if command -v ibsim >/dev/null && command -v ibsim-run >/dev/null; then
        sh "$THEMIS_SRC/test/aggregation/fabric.sh" tree 3 5 2 >"$T/net"
        for topology in auto discover; do
            check "4 ranks discover their fabric ($topology) and find themselves by their adapters" \
                with_simulator "$T/net" plan_discovered $topology
        done
    else
        skip "4 ranks discover their fabric" "ibsim is not installed"
    fi
    ;;
esac

check "3 ranks on one node plan together" plan_mpi -n 3 -- auto flat
echo '* * 4' >"$T/hops"
for nodes in 2 4; do
    check "4 ranks on $nodes nodes plan together, and nothing is known" plan_mpi -n 4 -- -n $nodes -h $((2 * nodes)) auto flat
    check "4 ranks on $nodes nodes plan together, with a hop file" \
        plan_mpi -n 4 -- -n $nodes -h $((4 * nodes)) "$T/hops" "hop file"
    check "4 ranks on $nodes nodes: a bad topology is taken as flat" plan_mpi -n 4 -- -n $nodes -h $((2 * nodes)) /none flat
    check "4 ranks on $nodes nodes: without a fabric \"discover\" is taken as flat" plan_mpi -n 4 -- -n $nodes discover flat
done
servers_count() {
    plan_mpi -n 4 -- -n 2 -s "$1:1,$1:2" "$2" "$3" >"$T/out" && grep -q "distances: $3, servers too" "$T/out"
}
check "servers on a node of the job count, though nothing is known of the network" servers_count "$(hostname)" flat flat
check "servers on a node of the job count with a hop file" servers_count "$(hostname)" "$T/hops" "hop file"
check "servers elsewhere count with a hop file" servers_count io0 "$T/hops" "hop file"

# Ranks 0 to 2 are a node, 3 to 5 another; in each, one processor has two ranks: one of these comes first, the third next,
# unless the two processors are one core.
siblings=$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list 2>/dev/null)
order=1,0,3,5
case $siblings in 0[-,]1*) order=0,1,3,4 ;; esac
if [ "$(nproc)" -gt 1 ] && taskset -c 0,1 true 2>/dev/null; then
    check "bound ranks aggregate in hwloc's order, not in that of their numbers" \
        plan_mpi -bind-to user:0,1,1,0,0,1 -n 6 -- -n 2 -l $order
else
    skip "bound ranks aggregate in hwloc's order" "one processor"
fi

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
# Rank 1 has bytes 0 to 99; rank 0 has 50 at 100, 200, 300 and 400. Domains of 225 bytes; the hosts are 2 hops apart and 3
# from the servers, of which the first has the only stripe.
printf '1 0 100\n0 100 50 4 100\n' >"$T/pattern"
# tables NAME SERVERS...: what plan prints, spaces made one, compared with $T/NAME.
tables() {
    name=$1
    shift
    limit 20 "$themis" plan -n 2 --per-node 1 -p "$T/pattern" -f "$T/cluster.net" "$@" >"$T/out" &&
        tr -s ' ' <"$T/out" | sed 's/ $//' | sed -n '/^C:/,/^auto/p' | diff - "$T/$name"
}
cat >"$T/plain" <<'END'
C: B of each domain on each node
 r0n0 75.000 125.000
 r0n1 100.000 0.000

D: hops between nodes
 r0n0 1.000 2.000
 r0n1 2.000 1.000

W: hop-B of each domain at each node
 r0n0 275.000 125.000
 r0n1 250.000 250.000

assignment (rank on host)
 domain default locality topology
 0 0 on r0n0 1 on r0n1 1 on r0n1
 1 1 on r0n1 0 on r0n0 0 on r0n0

placement shuffle hop-B servers hop-B moved B busiest link B
default 525.000 unknown 225.000 125.000
locality 375.000 unknown 75.000 75.000
topology 375.000 unknown 75.000 75.000

auto takes topology; topology is proved optimal
END
check "plan prints C, D, W, the assignment and what it costs" tables plain -s 2
sed 's/^\(W: .*\)/\1, and from there to the servers/; s/ 275.000 125.000/ 800.000 500.000/; s/ 250.000 250.000/ 775.000 625.000/
    s/ unknown 225.000 125.000/ 900.000 225.000 300.000/; s/ unknown 75.000 75.000/ 900.000 75.000 300.000/' "$T/plain" >"$T/far"
check "and the way to the servers in W" tables far -s io0,io1
check "which are null as JSON where they are not known" limit 20 sh -c "'$themis' plan -n 27 --edge 30 -f '$T/cluster.net' --json |
    jq -e '[.placements[].server_hop_bytes] == [null, null, null]'"
# wrong STATUS WORDS OPTION...: plan ends with that status, says the words, and prints nothing.
wrong() {
    wanted=$1 words=$2 got=0
    shift 2
    limit 20 "$themis" plan "$@" >"$T/out" 2>"$T/err" || got=$?
    cat "$T/err" "$T/out"
    [ "$got" = "$wanted" ] && grep -qF -- "$words" "$T/err" && [ ! -s "$T/out" ]
}
check "plan tells which numbers of ranks fit a cube" wrong 2 "the nearest are 8 and 27" -n 16 -f tree:2:8:1
check "and the squares of btio" wrong 2 "the nearest are 25 and 36" -n 27 -p btio -f tree:2:8:1
check "and how many fit at most" wrong 2 "at most 64 ranks" -n 125 --edge 4 -f tree:2:8:1
check "plan tells what a size looks like" wrong 2 "expected a size such as" -n 8 --stripe x -f tree:2:8:1
check "plan tells which numbers it takes" wrong 2 "expected a number from 1 to" -n 0
check "and which a made-up fabric takes" wrong 2 "tree:0:8:1: expected three numbers from 1" -n 8 -f tree:0:8:1
check "plan prints nothing when its picture cannot be written" wrong 1 "/none/p.svg" -n 8 -f tree:2:8:1 --svg /none/p.svg
check "plan without a fabric takes all hosts to be 2 hops apart, and says so" limit 20 \
    sh -c "'$themis' plan -n 27 --edge 30 --json 2>'$T/err' | jq -e '.nodes == 3' && grep -q '2 hops apart' '$T/err'"
check "plan has units that fit the job" limit 20 sh -c "'$themis' plan -n 27 --per-node 4 --edge 100 -f '$T/cluster.net' | grep -q '^27 ranks on 7 nodes, 8.000 MB '"
echo '0 0' >"$T/pattern"
check "plan refuses a broken pattern" limit 20 sh -c "! '$themis' plan -n 2 -p '$T/pattern' -f tree:1:2:1"
check "plan refuses more nodes than hosts" limit 20 sh -c "! '$themis' plan -n 27 --per-node 1 -f tree:2:2:1 --edge 30"
finish
