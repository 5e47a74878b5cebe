#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# net: round trips between two processes of this machine in microseconds: a message and its answer, and a request whose
# bytes the server pulls or pushes. `local`: shared memory and one copy; `local, other user`: shared memory alone (as
# root only); `tcp`: sealed records over loopback; `ucx`: UCX over loopback; `ucx_perftest`: UCX's own benchmark over loopback. cpu_us is of both processes.
# Both poll: on two cores nothing else should run.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# perftest BYTES ROUNDS: a row
perftest() {
    UCX_TLS=tcp timeout 60 ucx_perftest -p 13399 >/dev/null 2>&1 &
    server=$!
    sleep 0.5
    # it prints half a round trip
    UCX_TLS=tcp timeout 60 ucx_perftest 127.0.0.1 -p 13399 -t ucp_am_lat -s "$1" -n "$2" -w 100 2>/dev/null |
        awk -v bytes="$1" '$1 == "Final:" {
            printf "ucx_perftest\tmessage\t%d\t-1\t%.2f\t%.0f\t-1\n", bytes, 2 * $3, bytes / 1.048576 / (2 * $3) }'
    kill "$server" 2>/dev/null
    wait "$server" 2>/dev/null
}

{
    timeout 300 "$THEMIS_BUILD/bench/net"
    [ "$(id -u)" != 0 ] || timeout 300 "$THEMIS_BUILD/bench/net" -o | sed 1d
    timeout 300 "$THEMIS_BUILD/bench/net" -t | sed 1d
    timeout 300 "$THEMIS_BUILD/bench/net" -u | sed 1d
    if command -v ucx_perftest >/dev/null 2>&1; then
        perftest 8 20000
        perftest 4096 20000
        perftest 1048576 500
    fi
} >"$work/table"
jq -R -s 'split("\n") | map(select(. != "") | split("\t")) | .[0] as $names | .[1:] | map(. as $row |
    reduce range(0; $names | length) as $i ({}; .[$names[$i]] = (if $i < 2 then $row[$i] else ($row[$i] | tonumber |
    if . < 0 then null else . end) end)))' "$work/table" >"$BENCH_JSON"
