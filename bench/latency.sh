#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# latency: how long one call of 4 KiB takes, of one rank alone: MPI_File_write_at and MPI_File_read_at on themis: with one
# server on this machine, on ufs: (/dev/shm, and a tmpfs of huge pages), and memcpy to and from shared memory (floor).
#
#   --calls N        calls in each direction of a job (40960)
#   --repeats N      medians of N jobs; the sides take turns (5)
#   --sides A,B,..   some of themis shm huge floor (all)
#
# median_ns and p99_ns: of a call, without the time that reading the clock takes. romio_ns: a call with no bytes, which ends
# inside ROMIO before the driver. below_romio_ns is the difference of the two medians, and over_memcpy_ns what that is above
# memcpy. Every byte is compared.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"
. "$(dirname "$0")/sides.sh"

calls=40960 repeats=5 sides=themis,shm,huge,floor
bench_options "calls repeats sides" "$@"
sides_begin 1
repeat=0
while [ "$repeat" -lt "$repeats" ]; do
    for side in $(echo "$sides" | tr , ' '); do
        sides_run "$side" 1 "$THEMIS_BUILD/bench/latency" FILE "$calls" >>"$T/passes"
    done
    repeat=$((repeat + 1))
done

jq -s '
    def median: sort | .[length / 2 | floor];
    group_by(.direction) | reverse | map(
        (map(select(.side == "floor")) | if . == [] then null else map(.median_ns - .clock_ns) | median end) as $memcpy
        | group_by(.side)[]
        | {call: "4 KiB", side: .[0].side, direction: .[0].direction, median_ns: map(.median_ns - .clock_ns) | median,
            p99_ns: map(.p99_ns - .clock_ns) | median, romio_ns: map(.empty_ns - .clock_ns) | median,
            below_romio_ns: map(.median_ns - .empty_ns) | median}
        | .over_memcpy_ns = (if $memcpy == null then null else .below_romio_ns - $memcpy end)
        | .target_ns = (if .side == "themis" then 300 else null end))' "$T/passes" >"$BENCH_JSON"
sides_end
