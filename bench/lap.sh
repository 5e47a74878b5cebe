#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lap: the assignment solver against SciPy's linear_sum_assignment on the same matrices; wanted: at least 2 times as fast from
# n = 1000 on, and memory of O(n) beyond the matrix.
#
#   --sizes N,..  (500,1000,2000,4000)      --repeats N  best of N (3)
timeout 1800 /usr/bin/python3 "$THEMIS_SRC/bench/lap.py" "$THEMIS_PREFIX/lib/libthemis-plan.so" "$BENCH_JSON" "$@"
