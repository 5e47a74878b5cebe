#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sched: time of one scheduling decision (next, done and, where a request ends, enqueue) with many active jobs.
#
#   --jobs N      active jobs (10000); wanted: below 300 ns a decision
#   --repeats N   medians of N runs of 2,000,000 decisions (5)
. "$(dirname "$0")/options.sh"
jobs=10000 repeats=5
bench_options "jobs repeats" "$@"
timeout 300 "$THEMIS_BUILD/bench/sched" "$jobs" "$repeats" >"$BENCH_JSON"
