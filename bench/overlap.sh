#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# overlap: how much of MPI_File_iwrite_at_all and iread_at_all hides behind computation, on themis: with one server on this
# machine. Ranks that fill all processors leave none for the server, so 1 rank shows the most on 2 processors.
#
#   --ranks 1,2    numbers of ranks
#   --repeats N    medians of N (7)
#   --mib N        MiB of each rank (64)
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"
ranks=1,2 repeats=7 mib=64
bench_options "ranks repeats mib" "$@"
start_servers 1
for n in $(echo "$ranks" | tr , ' '); do
    limit 120 ranks "$n" "$THEMIS_BUILD/bench/overlap" themis:/overlap "$mib" "$repeats" >"$T/rows.$n" || exit 1
done
jq -s add "$T"/rows.* >"$BENCH_JSON"
finish
