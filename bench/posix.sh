#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# posix: rates of POSIX calls on files of one server of this machine, through the preloaded library (preload) and a mount
# (fuse), on a tmpfs (tmpfs), and on bindfs over that (bindfs, Debian's package): the control for what FUSE itself costs.
#
#   --files N        small files that are made, looked at, opened and removed (10000)
#   --bytes N        of the file that is written and read (268435456)
#   --repeats N      medians of N jobs; the sides take turns (3)
#   --sides A,B,..   some of preload fuse tmpfs bindfs (all that this machine has)
#
# rate is in calls a second, in MiB/s, or, for a read of nothing from /dev/zero, which no side serves, in ns.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"

files=10000 bytes=268435456 repeats=3 sides=preload,fuse,tmpfs,bindfs
bench_options "files bytes repeats sides" "$@"
memory=$(mktemp -d /dev/shm/themis-bench.XXXXXX)
ends() {
    umount "$T/bindfs" 2>/dev/null
    themis umount -l "$T/fuse" 2>/dev/null
    rm -rf "$memory"
    testlib_clean
}
trap ends EXIT
trap 'ends; exit 130' INT TERM HUP
start_servers 1 "size 4g"
has() { case ",$sides," in *,"$1",*) return 0 ;; *) return 1 ;; esac; }
drop() { sides=$(echo "$sides" | tr , '\n' | grep -vx "$1" | paste -sd , -); }
mkdir "$T/fuse" "$T/bindfs"
if has fuse && ! themis mount "$T/fuse" 2>"$T/fuse.log"; then
    echo "no mount: $(head -1 "$T/fuse.log")" >&2
    drop fuse
fi
if has bindfs && ! { command -v bindfs >/dev/null && mkdir "$memory/bound" && bindfs "$memory/bound" "$T/bindfs"; }; then
    echo "no bindfs" >&2
    drop bindfs
fi
# side_run SIDE: one job in an empty directory.
side_run() {
    case $1 in
    preload) set -- "$1" /themis/bench env "LD_PRELOAD=$THEMIS_PREFIX/lib/libthemis-posix.so" ;;
    fuse) set -- "$1" "$T/fuse/bench" ;;
    tmpfs) set -- "$1" "$memory/bench" ;;
    bindfs) set -- "$1" "$T/bindfs/bench" ;;
    esac
    side=$1 directory=$2
    shift 2
    "$@" mkdir "$directory" && "$@" "$THEMIS_BUILD/bench/posix" "$directory" "$side" "$files" "$bytes" >>"$T/rows" &&
        "$@" rmdir "$directory" || exit 1
}
export THEMIS_MOUNT=/themis
repeat=0
while [ "$repeat" -lt "$repeats" ]; do
    for side in $(echo "$sides" | tr , ' '); do side_run "$side"; done
    repeat=$((repeat + 1))
done
jq -s '
    def median: sort | .[length / 2 | floor];
    (map(.operation) | reduce .[] as $o ([]; if index($o) then . else . + [$o] end)) as $order
    | group_by(.operation)
    | map(. as $rows | {operation: .[0].operation, unit: .[0].unit}
        + ($rows | group_by(.side) | map({(.[0].side): (map(.rate) | median)}) | add))
    | sort_by(.operation as $o | $order | index($o))' "$T/rows" >"$BENCH_JSON"
