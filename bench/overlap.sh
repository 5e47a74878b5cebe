#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# overlap: how much of MPI_File_iwrite_at_all and iread_at_all hides behind computation, on themis: with one server on this
# machine. Ranks that fill all processors leave none for the server, so 1 rank shows the most on 2 processors.
#
#   --ranks 1,2    numbers of ranks
#   --repeats N    medians of N (7)
#   --mib N        MiB of each rank (64)
. "$(dirname "$0")/../test/lib/testlib.sh"
ranks_list=1,2 repeats=7 mib=64
while [ $# -gt 1 ]; do
    case $1 in
    --ranks) ranks_list=$2 ;;
    --repeats) repeats=$2 ;;
    --mib) mib=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# = 0 ] || {
    sed -n '3,8p' "$0"
    exit 2
}
start_servers 1
for n in $(echo "$ranks_list" | tr , ' '); do
    limit 120 ranks "$n" "$THEMIS_BUILD/bench/overlap" themis:/overlap "$mib" "$repeats" >"$T/rows.$n" || exit 1
done
jq -s add "$T"/rows.* >"$BENCH_JSON"
finish
