#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a benchmark; installs packages, builds and installs first where needed.
#
#   sh bench/run.sh NAME [options]     bench/NAME.sh with these options
#   sh bench/run.sh --list             the names
#
# bench/NAME.sh finds the trees in THEMIS_SRC, THEMIS_BUILD and THEMIS_PREFIX, writes its rows as a JSON array of objects,
# with units in the field names, to the file that BENCH_JSON names (build/bench/NAME.json), and pictures into BENCH_DIR. The
# rows are then printed as a table, unless the script says "# own table" at the start of a line.
THEMIS_SRC=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$THEMIS_SRC/test/lib/setup.sh"

bench_names() {
    for path in "$THEMIS_SRC"/bench/*.sh; do
        case $(basename "$path") in run.sh | options.sh | sides.sh) ;; *) basename "$path" .sh ;; esac
    done
}

# bench_table FILE: an array of rows as a table; columns are the fields of the first row.
bench_table() {
    jq -r 'if length == 0 then empty else (.[0] | keys_unsorted) as $k | $k, (.[] as $r | [$k[] | $r[.] | tostring]) | @tsv end' "$1" |
        column -t -s "$(printf '\t')"
}

name=${1-}
case $name in
--list)
    bench_names
    exit 0
    ;;
"" | -* | run | options | sides) themis_die "usage: sh bench/run.sh NAME [options]; the names: $(bench_names | tr '\n' ' ')" ;;
esac
script=$THEMIS_SRC/bench/$name.sh
[ -e "$script" ] || themis_die "No benchmark is called $name; the names: $(bench_names | tr '\n' ' ')"
shift
themis_setup
themis_make bench-programs
BENCH_DIR=$THEMIS_BUILD/bench
BENCH_JSON=$BENCH_DIR/$name.json
UCX_NET_DEVICES=lo
export BENCH_DIR BENCH_JSON UCX_NET_DEVICES
mkdir -p "$BENCH_DIR"
rm -f "$BENCH_JSON"
shell=sh
! head -n 1 "$script" | grep -q bash || shell=bash
status=0
$shell "$script" "$@" || status=$?
if [ -s "$BENCH_JSON" ]; then
    grep -q '^# own table' "$script" || bench_table "$BENCH_JSON"
    themis_say "rows in $BENCH_JSON"
fi
exit $status
