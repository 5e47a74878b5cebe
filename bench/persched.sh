#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# persched [table | convergence | scale]: periodic I/O schedules. table (default): the paper's table 4, ours beside the published
# figures, with improved patterns; convergence: K' and epsilon, relative to the largest and the smallest; scale: time to plan.
timeout 900 "$THEMIS_BUILD/bench/persched" "$@" >"$BENCH_JSON"
