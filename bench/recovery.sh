#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# recovery: how long the start of an arena in a directory takes, by number of files and extents: wanted: at most 10 s for
# a million files and ten million extents. --directory DIR: where it is made (default: $TMPDIR), some 700 MiB; the bytes of
# the files are holes.
directory=${TMPDIR:-/tmp}
[ "${1-}" != --directory ] || directory=$2
scratch=$(mktemp -d "$directory/themis-recovery.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT INT TERM
timeout 300 "$THEMIS_BUILD/bench/recovery" "$scratch" >"$BENCH_JSON"
