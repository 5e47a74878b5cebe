#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Parallel HDF5 on themis: with two servers. What the slab example wrote is copied to a local file and compared there, by
# HDF5's own tools, with what it writes on ufs:. Files that the program leaves open are closed by HDF5 in MPI_Finalize.
# And whole datasets that are read at once after small collective writes.
# timeout: 500
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

open_end=$THEMIS_BUILD/test/adio/finalize_hdf5

# left_open RANKS SERVERS: written and read with MPICH alone and on themis:; no program closes its file.
left_open() {
    label="left open, $2 servers, $1 ranks"
    check "$label: written on ufs: with MPICH alone" limit 60 mpirun.mpich -n "$1" "$open_end" write "ufs:$T/ufs.h5"
    check "$label: read there" limit 60 mpirun.mpich -n "$1" "$open_end" read "ufs:$T/ufs.h5"
    check "$label: written on themis:" limit 60 ranks "$1" "$open_end" write themis:/open.h5
    check "$label: read there by another program" limit 60 ranks "$1" "$open_end" read themis:/open.h5
    check "$label: copied" limit 60 themis cp themis:/open.h5 "$T/themis.h5"
    check "$label: h5diff finds no difference from ufs:" limit 60 h5diff "$T/ufs.h5" "$T/themis.h5"
    rm -f "$T/themis.h5" "$T/ufs.h5"
    limit 30 themis rm themis:/open.h5
}

start_servers 2
slab_case 1 16 16 4
slab_case 2 100 77 13
slab_case 4 256 256 64
slab_case 4 512 384 100
slab_case 3 1000 1000 250
slab_case 4 7 2000 7
slab_case 4 2048 1024 512
for n in 1 2 4; do left_open $n 2; done

# order RANKS NODES FILE [SECONDS]
order() {
    EXTRA_PRELOAD=$T/yield_shim.so THEMIS_FAKE_NODES=$2 ROMIO_HINTS=$T/hints
    export THEMIS_FAKE_NODES ROMIO_HINTS
    n=$1
    shift 2
    limit 60 ranks "$n" "$THEMIS_BUILD/test/adio/order_hdf5" "$@"
}
gcc -O2 -fPIC -shared -o "$T/yield_shim.so" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl || exit 1
: >"$T/hints"
check "small writes, then a read of all of it, 4 ranks on ufs:" order 4 1 "ufs:$T/order.h5"
for mode in auto list twophase; do
    echo "themis_collective $mode" >"$T/hints"
    for n in 2 4; do
        check "small writes, then a read of all of it, $mode, $n ranks" order $n 1 themis:/order.h5
        check "the same where one rank comes late to the read" order $n 1 themis:/order.h5 0.3
        check "the same on two nodes" order $n 2 themis:/order.h5
    done
done
unset THEMIS_FAKE_NODES ROMIO_HINTS EXTRA_PRELOAD

stop_servers
start_servers 1
for n in 1 2 4; do left_open $n 1; done
finish
