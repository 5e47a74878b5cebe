#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sched: time of one scheduling decision (next, done and, where a request ends, enqueue) with many active jobs.
#
#   --jobs N      active jobs (10000); wanted: below 300 ns a decision
#   --repeats N   medians of N runs of 2,000,000 decisions (5)
jobs=10000 repeats=5
while [ $# -gt 1 ]; do
    case $1 in
    --jobs) jobs=$2 ;;
    --repeats) repeats=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# = 0 ] || {
    sed -n '3,6p' "$0"
    exit 2
}
timeout 300 "$THEMIS_BUILD/bench/sched" "$jobs" "$repeats" >"$BENCH_JSON"
