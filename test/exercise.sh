#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random operations on files, as in a model, for hours: by a mount, by a process with the preloaded library, and by both, the
# command themis and MPI-IO in turn. EXERCISE_SECONDS is the time of each of the three; EXERCISE_SEED repeats a run.
# on request: takes two hours for each door
# timeout: 25000
. "$(dirname "$0")/lib/testlib.sh"
. "$(dirname "$0")/lib/mountlib.sh"
fuse_or_finish

seconds=${EXERCISE_SECONDS:-7200}
exercise=$THEMIS_SRC/test/mount/exercise.py
# shellcheck disable=SC2086 # nothing, or a word
random() { limit $((seconds + 300)) python3 "$exercise" "$@" "$seconds" $EXERCISE_SEED ; }
export THEMIS_MOUNT=/themis
posix=$THEMIS_PREFIX/lib/libthemis-posix.so
start_servers 3
mount_at "$T/m" -o directory_timeout=0
mkdir "$T/m/alone" "$T/m/preloaded" "$T/m/mixed"
check "by a mount" random "$T/m/alone"
case $THEMIS_VARIANT in
asan | tsan) skip "by the preloaded library" "the sanitizer intercepts the same calls" ;;
*)
    check "by the preloaded library" limit $((seconds + 300)) env LD_PRELOAD="$posix" python3 "$exercise" /themis/preloaded "$seconds" ${EXERCISE_SEED:+"$EXERCISE_SEED"}
    check "by all doors" random --preload "$posix" /themis/mixed --command themis:/mixed \
        --mpi "$(preload)" "$THEMIS_BUILD/test/mount/mpi_door" themis:/mixed "$T/m/mixed"
    ;;
esac
none "nothing is left hidden" "$(themis find themis:/ 2>/dev/null | grep themis_hidden)"
themis umount "$T/m"
finish
