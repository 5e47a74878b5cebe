#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# scaling: bandwidth of more ranks over that of fewer, of cases of `compare`, on themis: with one server on this machine and
# on ufs: on /dev/shm.
#
#   --cases A,B,..     cases of compare (contiguous_1mib_independent,contiguous_1mib_collective,independent_4kib,
#                      interleaved_4kib_collective)
#   --pairs 2:1,8:4    numbers of ranks that are compared
#   --sides A,B,..     some of themis shm huge floor (themis,shm,floor)
#   --repeats N        medians of N passes in each direction (5)
#   --mib N            MiB in each pass, all ranks together (128; up to 512)
#
# All sides and numbers of ranks take turns pass by pass. target: two writers of one file with calls of 1 MiB should have 1.8
# times the bandwidth of one; with more ranks than processors nothing should be lost. floor says what the memory allows.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"
. "$(dirname "$0")/sides.sh"

cases=contiguous_1mib_independent,contiguous_1mib_collective,independent_4kib,interleaved_4kib_collective
pairs=2:1,8:4 sides=themis,shm,floor repeats=5 mib=128
bench_options "cases pairs sides repeats mib" "$@"
sides_begin 1
for case in $(echo "$cases" | tr , ' '); do
    echo "$case" >&2
    repeat=0
    while [ "$repeat" -lt "$repeats" ]; do
        for n in $(echo "$pairs" | tr , '\n' | tr : '\n' | sort -nu); do
            for side in $(echo "$sides" | tr , ' '); do
                sides_run "$side" "$n" "$THEMIS_BUILD/bench/compare" "$case" "$mib" 1 FILE PIDS >>"$T/passes"
            done
        done
        repeat=$((repeat + 1))
    done
done

jq -s --arg pairs "$pairs" '
    def median: sort | .[length / 2 | floor];
    def round(n): . * n + 0.5 | floor / n;
    ($pairs | split(",") | map(split(":") | map(tonumber))) as $pairs
    | group_by([.case, .direction, .side]) | map(. as $passes | $pairs[] as [$more, $fewer]
        | ($passes | map(select(.ranks == $more) | .mib_s) | median) as $high
        | ($passes | map(select(.ranks == $fewer) | .mib_s) | median) as $low
        | $passes[0] | {case, direction, side, ranks: $more, mib_s: ($high | round(10)), over_ranks: $fewer,
            over_mib_s: ($low | round(10)), ratio: ($high / $low | round(100)),
            target: (if .side != "themis" then null elif $more == 8 then 1
                elif $more == 2 and .case == "contiguous_1mib_independent" and .direction == "write" then 1.8
                else null end)})' "$T/passes" >"$BENCH_JSON"
sides_end
