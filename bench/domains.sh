#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# domains: how many servers each aggregator talks to, and lock conflicts on the servers, for every file-domain method over a grid
# of aggregators and servers. No cluster is needed.
timeout 300 "$THEMIS_BUILD/bench/domains" >"$BENCH_JSON"
