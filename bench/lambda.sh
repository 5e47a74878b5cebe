#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lambda: what one round of the lambda exchange costs a server: decoding and taking over the tables of all servers (take_ms),
# and computing the global allocation (allocate_ms); jobs with files on 1, 4, 16 and all servers.
#
#   --servers N   servers (128)
#   --jobs N      jobs (10000)
#   --repeats N   best of N rounds (5)
. "$(dirname "$0")/options.sh"
servers=128 jobs=10000 repeats=5
bench_options "servers jobs repeats" "$@"
timeout 300 "$THEMIS_BUILD/bench/lambda" "$servers" "$jobs" "$repeats" >"$BENCH_JSON"
