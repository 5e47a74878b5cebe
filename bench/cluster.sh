#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# cluster: cases of `compare` on the emulated cluster of test/cluster, where ranks and servers share no memory: 2 racks of 2
# hosts below uplinks of 1 Gbit/s, 2 I/O hosts at the root with 2 Gbit/s. Needs root.
#
#   --other PREFIX     an installed tree of another version, run in turn with this one
#   --cases A,B,..     cases of compare (contiguous_64kib_collective,interleaved_4kib_collective,interleaved_4kib_no_view,
#                      vector_4kib_collective,independent_4kib)
#   --ranks 4,8        numbers of ranks, dealt over the hosts
#   --repeats N        medians of N passes in each direction (3)
#   --mib N            MiB in each pass, all ranks together (16)
#
# Every byte of each file is compared. The hosts share this machine's processors, so read the ratio of the two versions.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"

cases=contiguous_64kib_collective,interleaved_4kib_collective,interleaved_4kib_no_view,vector_4kib_collective,independent_4kib
ranks=4,8 repeats=3 mib=16 other=
bench_options "cases ranks repeats mib other" "$@"
cluster=$THEMIS_SRC/test/cluster/cluster.sh
export CLUSTER_DIR="$T/cluster"

cluster_clean() {
    trap - EXIT INT TERM HUP
    sh "$cluster" down "$CLUSTER_DIR" 2>/dev/null
    testlib_clean
}
trap cluster_clean EXIT
trap 'cluster_clean; exit 130' INT TERM HUP

on() { sh "$cluster" exec "$CLUSTER_DIR" "$@"; }

# servers_start PREFIX PORT: that version's servers on both I/O hosts. Those of earlier versions have no key.
servers_start() {
    servers=io0:$2,io1:$2
    key=
    ! "$1/sbin/themisd" --help | grep -q -e --key || key="--key $T/key"
    for i in 0 1; do
        # shellcheck disable=SC2086 # two words or none
        (cd "$T" && on io$i env UCX_NET_DEVICES=eth0 UCX_TLS=tcp "$1/sbin/themisd" --listen io$i --port "$2" --servers $servers \
            --index $i --size 1g --port-file "$T/$2.$i" $key </dev/null >"$T/$2.$i.log" 2>&1) &
    done
    for _ in $(seq 200); do
        [ ! -s "$T/$2.0" ] || [ ! -s "$T/$2.1" ] || return 0
        sleep 0.1
    done
    cat "$T/$2".?.log >&2
    exit 1
}

# pass VERSION PREFIX PORT CASE RANKS
pass() {
    on login env UCX_NET_DEVICES=eth0 UCX_TLS=tcp,self,sm "THEMIS_SERVERS=io0:$3,io1:$3" timeout -k 5 200 mpirun.mpich \
        -launcher ssh -launcher-exec "$THEMIS_SRC/test/cluster/launch.sh" -hosts "$compute" -ppn 1 -n "$5" -genv LD_PRELOAD \
        "$THEMIS_BUILD/test/cluster/finalize_shim.so:$THEMIS_BUILD/test/lib/yield_shim.so:$2/lib/libthemis-mpiio.so" \
        "$THEMIS_BUILD/bench/compare" "$4" "$mib" 1 themis:/bench </dev/null >"$T/job" 2>&1 || {
        echo "failed: $1, $4, $5 ranks" >&2
        cat "$T/job" >&2
        exit 1
    }
    sed -n "s/^{/{\"version\": \"$1\", /p" "$T/job" >>"$T/passes"
}

(umask 077 && head -c 32 /dev/urandom >"$T/key")
sh "$cluster" up "$CLUSTER_DIR" 2 2 1000 2000 2
compute=$(sh "$cluster" hosts "$CLUSTER_DIR" | tr '\n' ',' | sed 's/,$//')
servers_start "$THEMIS_PREFIX" 7711
[ -z "$other" ] || servers_start "$other" 7712
for n in $(echo "$ranks" | tr , ' '); do
    for case in $(echo "$cases" | tr , ' '); do
        echo "$case, $n ranks" >&2
        for _ in $(seq "$repeats"); do
            pass this "$THEMIS_PREFIX" 7711 "$case" "$n"
            [ -z "$other" ] || pass other "$other" 7712 "$case" "$n"
        done
    done
done
jq -s '
    def median: sort | if length == 0 then null else .[length / 2 | floor] end;
    def of(version): map(select(.version == version) | .mib_s) | median;
    def ratio(a; b): if b == null then null else a / b * 100 + 0.5 | floor / 100 end;
    group_by([.ranks, .case, .direction]) | map({case: .[0].case, ranks: .[0].ranks, direction: .[0].direction,
        mib_s: of("this"), other_mib_s: of("other"), ratio: ratio(of("this"); of("other"))})' "$T/passes" >"$BENCH_JSON"
