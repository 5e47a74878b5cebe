#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Parallel HDF5 on themis: with two servers. What the slab example wrote is copied to a local file and compared there, by
# HDF5's own tools, with what it writes on ufs:.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

slab=$THEMIS_BUILD/examples/hdf5_slab
if [ ! -x "$slab" ]; then
    skip "parallel HDF5" "libhdf5-mpich-dev is not installed"
    finish
fi
case ${THEMIS_VARIANT-} in
asan | tsan)
    skip "parallel HDF5" "with lib$THEMIS_VARIANT preloaded, and nothing of ours, it blocks in MPI_Init on a lock of glibc's locale"
    finish
    ;;
esac

# value FILE SET ROW COLUMN: one element, as h5dump prints it.
value() {
    h5dump -d "/$2" -s "$3,$4" -c 1,1 -m %.0f "$1" | sed -n 's/^ *([0-9,]*): //p'
}

# dumped FILE ROWS COLUMNS: the last element and one in the middle are what they must be, in both datasets.
dumped() {
    for set in contiguous chunked; do
        for at in "$(($2 - 1)) $(($3 - 1))" "$(($2 / 2)) $(($3 / 3))"; do
            row=${at% *} column=${at#* }
            got=$(value "$1" $set "$row" "$column")
            [ "$got" = $((row * $3 + column)) ] || {
                echo "$set ($row, $column) is $got, not $((row * $3 + column))"
                return 1
            }
        done
    done
}

# slab_case RANKS ROWS COLUMNS CHUNK
slab_case() {
    text="$2 x $3, chunks of $4, $1 ranks"
    check "$text: written and read on themis:" limit 120 ranks "$1" "$slab" themis:/slab.h5 "$2" "$3" "$4" || return
    check "$text: copied" limit 60 themis cp themis:/slab.h5 "$T/themis.h5" || return
    limit 120 mpirun.mpich -n "$1" "$slab" "ufs:$T/ufs.h5" "$2" "$3" "$4" >"$T/ufs.out" 2>&1 </dev/null
    check "$text: h5diff finds no difference from ufs:" limit 60 h5diff "$T/ufs.h5" "$T/themis.h5"
    check "$text: h5dump shows the values" dumped "$T/themis.h5" "$2" "$3"
    check "$text: removed" limit 30 themis rm themis:/slab.h5
    rm -f "$T/themis.h5" "$T/ufs.h5"
}

start_servers 2
slab_case 1 16 16 4
slab_case 2 100 77 13
slab_case 4 256 256 64
slab_case 4 512 384 100
slab_case 3 1000 1000 250
slab_case 4 7 2000 7
slab_case 4 2048 1024 512
finish
