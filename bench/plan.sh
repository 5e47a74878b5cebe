#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# plan: time and memory of planning one collective call for 512 to 262,144 ranks, 64 a node, on one core; wanted: 4,096 nodes and
# 512 domains in less than 1 s and 256 MiB.
timeout 300 "$THEMIS_BUILD/bench/planning" >"$BENCH_JSON"
