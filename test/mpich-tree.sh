#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The driver inside MPICH: grafts it into MPICH's source tree, builds that MPICH without Fortran, and runs programs on
# themis: files of 2 servers with its mpicc and mpiexec, without a preloaded library.
# on request: builds all of MPICH, which takes a quarter of an hour
# timeout: 3600
. "$(dirname "$0")/lib/testlib.sh"

tree=$THEMIS_BUILD/mpich-tree
mpich=$tree/inst
romio=$tree/src/src/mpi/romio

# step TEXT COMMAND...: ends the script if it fails.
step() {
    check "$@" || finish
}

fetch_and_graft() {
    [ -d "$tree/src" ] || {
        "$THEMIS_SRC/adio/romio/fetch" "$THEMIS_BUILD/romio-src" whole && mkdir -p "$tree" &&
            cp -a "$THEMIS_BUILD/romio-src/mpich-whole" "$tree/src"
    } || return 1
    "$THEMIS_SRC/adio/romio/graft" "$tree/src" >"$tree/libraries"
}

configure_tree() {
    mkdir -p "$tree/build" && cd "$tree/build" || return 1
    [ -e Makefile ] || ../src/configure --prefix="$mpich" --disable-fortran --disable-cxx --disable-static \
        --with-device=ch4:ucx --with-ucx=/usr --without-yaksa --with-file-system=ufs+nfs+themis --enable-fast=O1 \
        CC="$(command -v ccache >/dev/null && echo ccache) gcc" MPICHLIB_CFLAGS=-w \
        LDFLAGS="-Wl,-rpath,$THEMIS_PREFIX/lib -L$THEMIS_PREFIX/lib" LIBS="$(cat "$tree/libraries")"
}

make_tree() { nice make -C "$tree/build" -j"$(nproc)" && make -C "$tree/build" install; }

# in_tree N PROGRAM ARGUMENT...: without our library.
in_tree() {
    n=$1
    shift
    timeout -k 5 120 "$mpich/bin/mpiexec" -n "$n" -genv LD_PRELOAD="$tree/yield_shim.so" "$@" </dev/null
}

# smoke NAME RANKS ARGUMENT...
smoke() {
    name=$1 n=$2
    shift 2
    "$mpich/bin/mpicc" -w -o "$tree/$name" "$romio/test/$name.c" && in_tree "$n" "$tree/$name" "$@" >"$T/out" 2>&1 &&
        grep -q 'No Errors' "$T/out" || {
        cat "$T/out"
        return 1
    }
}

step "the driver is grafted into MPICH's source" fetch_and_graft
step "MPICH is configured with it" configure_tree
step "MPICH is built and installed" make_tree
gcc -O2 -fPIC -shared -o "$tree/yield_shim.so" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl || finish

start_servers 2
for name in simple coll_test atomicity shared_fp ordered_fp noncontig_coll2 split_coll async excl; do
    check "$name in the grafted MPICH" smoke "$name" 4 -fname "themis:/$name"
done
finish
